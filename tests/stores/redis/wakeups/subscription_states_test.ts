import { assert, assertEquals } from "@std/assert";
import type { RedisNode } from "../../../../src/stores/redis/client/client.ts";
import { POLL_MS } from "../../../../src/stores/redis/constants.ts";
import { settled } from "../../../support/virtual_clock.ts";
import { type FakeClient, replyError } from "../fake_client.ts";
import { SubscriptionSite as Site } from "./subscription_site.ts";

/** The nodes of a Cluster client, by name; the first one is connected. */
function cluster(client: FakeClient, names: readonly string[]): void {
  const nodes = () =>
    names.map((name, i) => ({ status: i === 0 ? "ready" : "end", duplicate: () => client.made(name) }));
  Object.assign(client, { isCluster: true, nodes: nodes as () => unknown as () => RedisNode[] });
}

Deno.test("Subscription.start() makes one connection, and subscribes once it is ready", async () => {
  const { subscription, client, log } = new Site();
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
    const site = new Site((client) => client.status = "connecting");
    site.subscription.start();
    assertEquals(site.made, []);
    site.client.status = "ready";
    site.wanted = wanted;
    site.client.emit("ready");
    assertEquals(site.made.length, wanted ? 1 : 0);
  }
});

Deno.test("Subscription.start() takes a client without a status for connected", () => {
  const site = new Site((client) => Object.assign(client, { status: undefined }));
  site.subscription.start();
  assertEquals(site.made, ["client"]);
});

Deno.test("Subscription passes on the messages of its connection, not of one it has left", async () => {
  const { subscription, client, log, clock } = new Site();
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
  const { subscription, client, clock, log } = new Site();
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
    const site = new Site();
    site.subscription.start();
    const left = site.client.subscriber;
    left.emit("ready");
    site.client.emit("close");
    site.subscription.start();
    const current = site.client.subscriber;
    assert(current !== left, "another one is made");
    if (answer === "accepted") left.sent[0]!.resolve(2);
    else left.sent[0]!.reject(answer === "refused" ? replyError("NOPERM no") : new Error("cut"));
    await settled();
    assertEquals([site.subscription.open, site.subscription.refusal, site.log], [false, undefined, []]);
    assertEquals([current.disconnected, site.made.length, site.clock.pending], [0, 2, 0]);
    await site.open(current);
    assertEquals(site.log, ["opened"]);
  }
});

Deno.test("Subscription reports that it has closed, once, if it was open", async () => {
  for (const event of ["close", "end"]) {
    for (const open of [true, false]) {
      const site = new Site();
      site.subscription.start();
      if (open) await site.open();
      const subscriber = site.client.subscriber;
      for (let i = 0; i < 2; i++) site.client.emit(event);
      assertEquals(site.log, open ? ["opened", "closed"] : []);
      assertEquals([site.subscription.open, subscriber.disconnected, site.clock.pending], [false, 1, 0]);
    }
  }
});

Deno.test("Subscription does not disconnect a connection that has ended by itself", async () => {
  for (const status of ["end", undefined]) {
    const site = new Site();
    site.subscription.start();
    const subscriber = await site.open();
    subscriber.status = status;
    subscriber.emit("end");
    assertEquals([subscriber.disconnected, site.log], [0, ["opened", "closed"]]);
  }
});

Deno.test("Subscription cancels its pause when the client is cut off", async () => {
  const site = new Site();
  site.subscription.start();
  site.client.subscriber.end();
  assertEquals(site.clock.pending, 1);
  site.client.emit("close");
  assertEquals(site.clock.pending, 0);
  await site.clock.advance(POLL_MS);
  assertEquals(site.made.length, 1);
  site.client.emit("ready");
  assertEquals(site.made.length, 2);
});

Deno.test("Subscription makes the next connection only while it is wanted", async () => {
  const site = new Site();
  site.subscription.start();
  site.wanted = false;
  site.client.subscriber.end();
  assertEquals(site.clock.pending, 0);
  await site.clock.advance(POLL_MS);
  assertEquals(site.made.length, 1);
});

Deno.test("Subscription finds out whether it is wanted before it reports that it has closed", async () => {
  const site = new Site();
  site.wantedOnceClosed = false;
  site.subscription.start();
  const subscriber = await site.open();
  // The waiters that are woken do not wait any more.
  subscriber.end();
  assertEquals([site.log, site.wanted, site.clock.pending], [["opened", "closed"], false, 1]);
});

Deno.test("Subscription makes one try at a time, however often it is started in the pause", async () => {
  const site = new Site();
  site.subscription.start();
  site.client.subscriber.end();
  for (let i = 0; i < 3; i++) site.subscription.start();
  assertEquals(site.clock.pending, 1);
  assertEquals(await site.pause(), 50);
  assertEquals(site.made.length, 2);
});

Deno.test("Subscription begins with short pauses after it was open for long", async () => {
  const site = new Site();
  site.subscription.start();
  const pauses: number[] = [];
  for (const openFor of [undefined, undefined, 1_000, 1_001]) {
    if (openFor !== undefined) {
      await site.open();
      await site.clock.advance(openFor);
    }
    site.client.subscriber.end();
    pauses.push(await site.pause());
  }
  assertEquals(pauses, [50, 100, 150, 50]);
});

Deno.test("Subscription.refusal says what the server refused, until it accepts", async () => {
  const site = new Site((client) => client.options = { username: "app" });
  site.subscription.start();
  const subscriber = site.client.subscriber;
  subscriber.emit("ready");
  subscriber.sent[0]!.reject(replyError("NOPERM No permissions to access a channel"));
  await settled();
  assert(site.subscription.refusal?.includes("ACL SETUSER app &holdfast:*"), site.subscription.refusal);
  assertEquals([subscriber.disconnected, site.log], [1, []]);
  assertEquals(await site.pause(), POLL_MS, "what is refused is not tried again soon");
  await site.open();
  assertEquals([site.subscription.refusal, site.log], [undefined, ["opened"]]);
});

Deno.test("Subscription tries again soon when its subscription failed without a refusal", async () => {
  const site = new Site();
  site.subscription.start();
  site.client.subscriber.emit("ready");
  site.client.subscriber.sent[0]!.reject(new Error("Command timed out"));
  await settled();
  assertEquals([site.subscription.refusal, await site.pause()], [undefined, 50]);
});

Deno.test("Subscription tries each node of a Cluster in turn, after success the best one", async () => {
  const site = new Site((client) => cluster(client, ["ready", "other"]));
  site.subscription.start();
  for (let i = 0; i < 2; i++) {
    site.client.subscriber.end();
    await site.pause();
  }
  assertEquals(site.made, ["ready", "other", "ready"]);
  await site.open();
  site.client.subscriber.end();
  await site.pause();
  assertEquals(site.made.at(-1), "ready");
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
    const site = new Site(fault);
    site.subscription.start();
    assertEquals([site.made, site.clock.pending], [[], 1]);
    Object.assign(site.client, { isCluster: false, duplicate: () => site.client.made("found") });
    assertEquals(await site.pause(), 50);
    assertEquals(site.made, ["found"]);
  }
});

Deno.test("Subscription survives an error of its connection", () => {
  const { subscription, client } = new Site();
  subscription.start();
  assert(client.subscriber.emit("error", new Error("cut")), "it listens");
});
