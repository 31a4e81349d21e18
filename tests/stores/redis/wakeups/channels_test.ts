import { assert, assertEquals } from "@std/assert";
import { Wakeups } from "../../../../src/stores/redis/wakeups/wakeups.ts";
import { settled } from "../../../support/virtual_clock.ts";
import { FakeClient } from "../fake_client.ts";

Deno.test("Wakeups ends the waits of a client that is closed for good", async () => {
  const rejected: string[] = [];
  const prevCommandQueue = [{ command: { reject: ({ message }: Error) => rejected.push(message) } }];
  const client = Object.assign(new FakeClient(), { prevCommandQueue, status: "connecting" });
  const wakeups = Wakeups.of(client.client);
  wakeups.waiter("a");
  let woken = false;
  const waiting = wakeups.waiters.wait("a", 60_000, new AbortController().signal).then(() => woken = true);
  client.emit("close");
  await settled();
  assert(!woken, "it may connect again");
  client.emit("end");
  await waiting;
  assertEquals(rejected, ["Connection is closed."]);
});

Deno.test("Wakeups gives its waiters an address once messages arrive there", async () => {
  for (const [isCluster, start] of [[false, "!"], [true, "?"]] as const) {
    const client = new FakeClient();
    Object.assign(client, {
      isCluster,
      nodes: () => [{ status: "ready", duplicate: () => client.made("node"), on() {} }],
    });
    const wakeups = Wakeups.of(client.client);
    assertEquals([wakeups.subscription.open, wakeups.address], [false, "?holdfast:-"]);
    wakeups.subscription.start();
    const { subscriber } = client;
    subscriber.emit("ready");
    assertEquals(wakeups.address, "?holdfast:-");
    subscriber.sent[0]!.resolve(2);
    await settled();
    assertEquals(wakeups.address, start + subscriber.sent[0]!.channels[0]);
    assert(/^[!?]holdfast:[0-9a-f-]{36}$/.test(wakeups.address), wakeups.address);
    client.emit("close");
    assertEquals(wakeups.address, "?holdfast:-");
  }
});

/** The wake-ups of a client, with its second connection. */
async function subscribedWakeups() {
  const client = new FakeClient();
  const wakeups = Wakeups.of(client.client);
  wakeups.subscription.start();
  const { subscriber } = client;
  subscriber.emit("ready");
  const [channel, revocations] = subscriber.sent[0]!.channels;
  subscriber.sent[0]!.resolve(2);
  await settled();
  return { client, wakeups, subscriber, channel: channel!, revocations: revocations! };
}

Deno.test("Wakeups tells wake-ups from revocations by their channels", async () => {
  const { wakeups, subscriber, channel, revocations } = await subscribedWakeups();
  const [log, controller] = [[] as string[], new AbortController()];
  const { signal } = controller;
  wakeups.waiter("a");
  const held = () => Promise.resolve(log.push("asked") === 1);
  const waits = [
    wakeups.waiters.wait("a", 60_000, signal).then(() => log.push("woken")),
    wakeups.revocation("a", held, signal).then(() => log.push("revoked")),
  ];
  await settled();
  assertEquals(log, ["asked"], "it may have been revoked before it subscribed");
  subscriber.emit("message", revocations, "!a");
  subscriber.emit("message", channel, "a");
  await settled();
  assertEquals(log, ["asked"]);
  subscriber.emit("message", revocations, "a");
  await settled();
  assertEquals(log, ["asked", "asked", "revoked"]);
  subscriber.emit("message", channel, "!a");
  await Promise.all(waits);
  assertEquals(log, ["asked", "asked", "revoked", "woken"]);
});

Deno.test("Wakeups asks about revocations again when its connection is back", async () => {
  const client = new FakeClient();
  const wakeups = Wakeups.of(client.client);
  let asked = 0;
  const held = () => Promise.resolve(++asked < 2);
  const controller = new AbortController();
  const revoked = wakeups.revocation("a", held, controller.signal);
  assertEquals([client.subscribers.length, asked], [1, 0], "the server is asked once it is subscribed");
  for (let i = 0; i < 2; i++) {
    client.subscriber.emit("ready");
    client.subscriber.sent[0]!.resolve(2);
    await settled();
    assertEquals(asked, i + 1);
    if (i > 0) break;
    client.emit("close");
    client.emit("ready");
    assertEquals(client.subscribers.length, 2, "a holder that watches needs it");
  }
  await revoked;
  client.emit("close");
  client.emit("ready");
  assertEquals(client.subscribers.length, 2, "nobody needs it any more");
});
