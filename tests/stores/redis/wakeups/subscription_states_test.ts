import { assert, assertEquals } from "@std/assert";
import type { RedisNode } from "../../../../src/stores/redis/clients/client.ts";
import { POLL_MS } from "../../../../src/stores/redis/constants.ts";
import { settled } from "../../../support/virtual_clock.ts";
import { type FakeClient, replyError } from "../fake_client.ts";
import { SubscriptionFixture as Fixture } from "./subscription_fixture.ts";

/** The nodes of a Cluster client, by name; the first one is connected. */
function cluster(client: FakeClient, names: readonly string[]): void {
  const nodes = () =>
    names.map((name, i) => ({ status: i === 0 ? "ready" : "end", on() {}, duplicate: () => client.made(name) }));
  Object.assign(client, { isCluster: true, nodes: nodes as () => unknown as () => RedisNode[] });
}

Deno.test("Subscription.start() makes one connection, and subscribes once it is ready", async () => {
  const { subscription, client, log } = new Fixture();
  for (let i = 0; i < 2; i++) subscription.start();
  assertEquals([client.subscribers.length, client.subscriber.sent.length], [1, 0]);
  client.subscriber.emit("ready");
  assertEquals(client.subscriber.sent.map(({ channels }) => channels), [["first", "second"]]);
  assertEquals([subscription.open, log], [false, []]);
  client.subscriber.sent[0]!.resolve(2);
  await settled();
  subscription.start();
  assertEquals([subscription.open, log, client.subscribers.length], [true, ["opened"], 1]);
});

Deno.test("Subscription waits for the client, and connects then only if it is wanted", () => {
  for (const wanted of [true, false]) {
    const fixture = new Fixture((client) => client.status = "connecting");
    fixture.subscription.start();
    assertEquals(fixture.made, []);
    fixture.client.status = "ready";
    fixture.wanted = wanted;
    fixture.client.emit("ready");
    assertEquals(fixture.made.length, wanted ? 1 : 0);
  }
});

Deno.test("Subscription.start() takes a client without a status for connected", () => {
  const fixture = new Fixture((client) => Object.assign(client, { status: undefined }));
  fixture.subscription.start();
  assertEquals(fixture.made, ["client"]);
});

Deno.test("Subscription passes on the messages of its connection, not of one it has left", async () => {
  const { subscription, client, log, clock } = new Fixture();
  subscription.start();
  const first = client.subscriber;
  first.emit("ready");
  first.emit("message", "first", "early");
  first.sent[0]!.resolve(2);
  await settled();
  first.emit("message", "second", "a");
  first.end();
  first.emit("message", "first", "late");
  await clock.advance(50);
  assertEquals(client.subscribers.length, 2);
  first.emit("message", "first", "later");
  client.subscriber.emit("message", "first", "b");
  assertEquals(log, ["first: early", "opened", "second: a", "closed", "first: b"]);
});

Deno.test("Subscription ignores what becomes of a connection that it has left", async () => {
  const { subscription, client, clock, log } = new Fixture();
  subscription.start();
  const left = client.subscriber;
  client.emit("close");
  assertEquals(left.disconnected, 1);
  subscription.start();
  const current = client.subscriber;
  left.emit("ready");
  left.emit("end");
  await settled();
  assertEquals([left.sent.length, client.subscriber === current, current.disconnected], [0, true, 0]);
  assertEquals([clock.pending, log], [0, []]);
});

Deno.test("Subscription ignores the late answer to a subscription that it has left", async () => {
  for (const answer of ["accepted", "refused", "failed"]) {
    const fixture = new Fixture();
    fixture.subscription.start();
    const left = fixture.client.subscriber;
    left.emit("ready");
    fixture.client.emit("close");
    fixture.subscription.start();
    const current = fixture.client.subscriber;
    assert(current !== left, "another one is made");
    if (answer === "accepted") left.sent[0]!.resolve(2);
    else left.sent[0]!.reject(answer === "refused" ? replyError("NOPERM no") : new Error("cut"));
    await settled();
    assertEquals([fixture.subscription.open, fixture.subscription.refusal, fixture.log], [false, undefined, []]);
    assertEquals([current.disconnected, fixture.made.length, fixture.clock.pending], [0, 2, 0]);
    await fixture.open(current);
    assertEquals(fixture.log, ["opened"]);
  }
});

Deno.test("Subscription reports that it has closed, once, if it was open", async () => {
  for (const event of ["close", "end"]) {
    for (const open of [true, false]) {
      const fixture = new Fixture();
      fixture.subscription.start();
      if (open) await fixture.open();
      const subscriber = fixture.client.subscriber;
      for (let i = 0; i < 2; i++) fixture.client.emit(event);
      assertEquals(fixture.log, open ? ["opened", "closed"] : []);
      assertEquals([fixture.subscription.open, subscriber.disconnected, fixture.clock.pending], [false, 1, 0]);
    }
  }
});

Deno.test("Subscription does not disconnect a connection that has ended by itself", async () => {
  for (const status of ["end", undefined]) {
    const fixture = new Fixture();
    fixture.subscription.start();
    const subscriber = await fixture.open();
    subscriber.status = status;
    subscriber.emit("end");
    assertEquals([subscriber.disconnected, fixture.log], [0, ["opened", "closed"]]);
  }
});

Deno.test("Subscription cancels its pause when the client is cut off", async () => {
  const fixture = new Fixture();
  fixture.subscription.start();
  fixture.client.subscriber.end();
  assertEquals(fixture.clock.pending, 1);
  fixture.client.emit("close");
  assertEquals(fixture.clock.pending, 0);
  await fixture.clock.advance(POLL_MS);
  assertEquals(fixture.made.length, 1);
  fixture.client.emit("ready");
  assertEquals(fixture.made.length, 2);
});

Deno.test("Subscription respects the rest of a pause that the client has cut short", async () => {
  const fixture = new Fixture();
  fixture.subscription.start();
  fixture.client.subscriber.end();
  fixture.client.emit("close");
  await fixture.clock.advance(20);
  fixture.client.emit("ready");
  assertEquals(fixture.made.length, 1);
  assertEquals(await fixture.pause(), 30);
});

Deno.test("Subscription makes the next connection only while it is wanted", async () => {
  const fixture = new Fixture();
  fixture.subscription.start();
  fixture.wanted = false;
  fixture.client.subscriber.end();
  assertEquals(fixture.clock.pending, 0);
  await fixture.clock.advance(POLL_MS);
  assertEquals(fixture.made.length, 1);
});

Deno.test("Subscription finds out whether it is wanted before it reports that it has closed", async () => {
  const fixture = new Fixture();
  fixture.wantedOnceClosed = false;
  fixture.subscription.start();
  const subscriber = await fixture.open();
  // The waiters that are woken do not wait any more.
  subscriber.end();
  assertEquals([fixture.log, fixture.wanted, fixture.clock.pending], [["opened", "closed"], false, 1]);
});

Deno.test("Subscription makes one try at a time, however often it is started in the pause", async () => {
  const fixture = new Fixture();
  fixture.subscription.start();
  fixture.client.subscriber.end();
  for (let i = 0; i < 3; i++) fixture.subscription.start();
  assertEquals(fixture.clock.pending, 1);
  assertEquals(await fixture.pause(), 50);
  assertEquals(fixture.made.length, 2);
});

Deno.test("Subscription makes each pause longer, up to a second", async () => {
  const fixture = new Fixture();
  fixture.subscription.start();
  const pauses: number[] = [];
  for (let i = 0; i < 22; i++) {
    fixture.client.subscriber.end();
    pauses.push(await fixture.pause());
  }
  assertEquals(pauses, [...Array.from({ length: 20 }, (_, i) => 50 * (i + 1)), 1_000, 1_000]);
});

Deno.test("Subscription begins with short pauses after it was open for long", async () => {
  const fixture = new Fixture();
  fixture.subscription.start();
  const pauses: number[] = [];
  for (const openFor of [undefined, undefined, 1_000, 1_001, undefined]) {
    if (openFor !== undefined) {
      await fixture.open();
      await fixture.clock.advance(openFor);
    }
    fixture.client.subscriber.end();
    pauses.push(await fixture.pause());
  }
  assertEquals(pauses, [50, 100, 150, 50, 100]);
});

Deno.test("Subscription.refusal says what the server refused, until it accepts", async () => {
  const fixture = new Fixture((client) => client.options = { username: "app" });
  fixture.subscription.start();
  const subscriber = fixture.client.subscriber;
  subscriber.emit("ready");
  subscriber.sent[0]!.reject(replyError("NOPERM No permissions to access a channel"));
  await settled();
  assert(fixture.subscription.refusal?.includes("ACL SETUSER app &holdfast:*"), fixture.subscription.refusal);
  assertEquals([subscriber.disconnected, fixture.log], [1, []]);
  assertEquals(await fixture.pause(), POLL_MS, "what is refused is not tried again soon");
  await fixture.open();
  assertEquals([fixture.subscription.refusal, fixture.log], [undefined, ["opened"]]);
});

Deno.test("Subscription tries again soon when its subscription failed without a refusal", async () => {
  const fixture = new Fixture();
  fixture.subscription.start();
  fixture.client.subscriber.emit("ready");
  fixture.client.subscriber.sent[0]!.reject(new Error("Command timed out"));
  await settled();
  assertEquals([fixture.subscription.refusal, await fixture.pause()], [undefined, 50]);
});

Deno.test("Subscription tries each node of a Cluster in turn, after success the best one", async () => {
  const fixture = new Fixture((client) => cluster(client, ["ready", "other"]));
  fixture.subscription.start();
  for (let i = 0; i < 2; i++) {
    fixture.client.subscriber.end();
    await fixture.pause();
  }
  assertEquals(fixture.made, ["ready", "other", "ready"]);
  await fixture.open();
  fixture.client.subscriber.end();
  await fixture.pause();
  assertEquals(fixture.made.at(-1), "ready");
});

Deno.test("Subscription of a Cluster without nodes, or that fails to connect, tries later", async () => {
  const faults: ((client: FakeClient) => void)[] = [
    (client) => cluster(client, []),
    (client) => {
      client.duplicate = () => {
        throw new Error("no");
      };
    },
  ];
  for (const fault of faults) {
    const fixture = new Fixture(fault);
    fixture.subscription.start();
    assertEquals([fixture.made, fixture.clock.pending], [[], 1]);
    Object.assign(fixture.client, { isCluster: false, duplicate: () => fixture.client.made("found") });
    assertEquals(await fixture.pause(), 50);
    assertEquals(fixture.made, ["found"]);
  }
});

Deno.test("Subscription survives an error of its connection", () => {
  const { subscription, client } = new Fixture();
  subscription.start();
  assert(client.subscriber.emit("error", new Error("cut")), "it listens");
});
