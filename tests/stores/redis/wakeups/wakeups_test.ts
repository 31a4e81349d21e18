import { assert, assertEquals } from "@std/assert";
import type { RedisClient } from "@holdfast/lock";
import type { Redis } from "ioredis";
import { EventEmitter } from "node:events";
import { TURN } from "../../../../src/stores/redis/constants.ts";
import { reservationMs, Wakeups } from "../../../../src/stores/redis/wakeups/wakeups.ts";
import { until } from "../../../support/until.ts";
import { idOf, tested } from "../tested.ts";
import { subscribed } from "./subscribed.ts";
import { testOnServer } from "../on_server.ts";

/** Longer than these tests wait for anything, in milliseconds. */
const NEVER = 60_000;

Deno.test("Wakeups.subscribe() makes a connection that does not keep the process alive", () => {
  let unreferenced = 0;
  const stream = { unref: () => unreferenced++ };
  const subscriber = Object.assign(new EventEmitter(), { stream, disconnect: () => {} });
  const client = Object.assign(new EventEmitter(), { duplicate: () => subscriber });
  Wakeups.of(tested(client as unknown as RedisClient)).subscription.start();
  subscriber.emit("connect");
  assertEquals(unreferenced, 1);
});

testOnServer("Wakeups.of() gives one for each client", async ({ server }) => {
  const [client, other] = [server.connect(), server.connect()];
  const [one, same, another] = [Wakeups.of(tested(client)), Wakeups.of(tested(client)), Wakeups.of(tested(other))];
  assert(one === same && one !== another, "one for each");
  await subscribed(client, other);
  assert(one.address !== another.address, "with a channel of its own");
});

testOnServer("subscribe() makes one connection, whatever the client's database and prefix", async ({ server }) => {
  const client = server.connect({ keyPrefix: "app:", db: 3 });
  const wakeups = Wakeups.of(tested(client));
  assert(!wakeups.subscription.open, "nobody waits yet");
  assertEquals(await subscribers(client), 0);
  wakeups.subscription.start();
  await subscribed(client);
  await subscribed(client);
  assertEquals(await subscribers(client), 1);
  assertEquals(await publish(client, wakeups, TURN + "nobody"), 1);
});

testOnServer("pollAfter() has who cannot be woken ask more than once per reservation", async ({ client }) => {
  const wakeups = Wakeups.of(tested(client));
  for (const lease of [10, 250, 900, 60_000]) {
    // One try may come just before the lock is reserved, the next one be slow.
    assert(2 * wakeups.pollAfter(NEVER, lease) < reservationMs(lease), `twice, with a lease of ${lease} ms`);
    assertEquals(wakeups.pollAfter(7, lease), 7, "not later than the server says");
  }
  await subscribed(client);
  assertEquals(wakeups.pollAfter(NEVER, 10), NEVER);
});

testOnServer("wait() resolves on the handle's turn, and no other's", async ({ client }) => {
  const wakeups = Wakeups.of(tested(client));
  await subscribed(client);
  using waiting = new Waiting(wakeups, ["a", "b"]);
  await publish(client, wakeups, TURN + "nobody");
  await publish(client, wakeups, TURN);
  await publish(client, wakeups, TURN + "b");
  await until(() => waiting.woken.length > 0, "b is woken");
  assertEquals(waiting.woken, ["b"]);
});

testOnServer("waiter() asks for a sign of life when no message has come since the last one", async ({ server }) => {
  const [client, watcher] = [server.connect(), server.connect()];
  const wakeups = Wakeups.of(tested(client));
  await subscribed(client);
  const asked = async () => {
    const calls = (await watcher.info("commandstats")).matchAll(/cmdstat_(?:subscribe|ping):calls=(\d+)/g);
    return [...calls].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const before = await asked();
  for (let signs = 1; signs <= 2; signs++) {
    using waiting = new Waiting(wakeups, ["a"]);
    // The first time something has come: a message, or before that the subscription itself.
    for (let tries = 0; tries < 2; tries++) wakeups.waiter("a");
    await until(async () => await asked() === before + signs, "it has asked");
    await publish(watcher, wakeups, TURN + "a");
    await until(() => waiting.woken.length > 0, "a is woken, after the answer");
  }
});

testOnServer("Wakeups wakes all waiters when its connection is cut, and when it is back", async ({ client }) => {
  const wakeups = Wakeups.of(tested(client));
  await subscribed(client);
  assert(wakeups.subscription.open, "messages arrive");
  using cut = new Waiting(wakeups, ["a", "b"]);
  assertEquals(await client.call("CLIENT", "KILL", "TYPE", "pubsub"), 1);
  await until(() => cut.woken.length === 2, "both are woken");
  assertEquals(cut.subscribed, [false, false]);
  using anew = new Waiting(wakeups, ["a", "b"]);
  await until(() => anew.woken.length === 2, "both are woken again");
  assertEquals(anew.subscribed, [true, true]);
  using again = new Waiting(wakeups, ["a", "b"]);
  await publish(client, wakeups, TURN + "a");
  await until(() => again.woken.length > 0, "a is woken");
  assertEquals(again.woken, ["a"]);
  assertEquals(await subscribers(client), 1);
});

testOnServer("Wakeups counts how often the client itself was cut off", async ({ server }) => {
  const [client, watcher] = [server.connect(), server.connect()];
  const wakeups = Wakeups.of(tested(client));
  const id = await idOf(tested(client));
  assertEquals(wakeups.port.connection.cuts, 0);
  await watcher.call("CLIENT", "KILL", "ID", id);
  await until(() => wakeups.port.connection.cuts === 1, "it is counted");
});

testOnServer("Wakeups makes a new connection when the client was cut off", async ({ server }) => {
  const [client, watcher] = [server.connect(), server.connect()];
  const wakeups = Wakeups.of(tested(client));
  await subscribed(client);
  const id = async () => /^id=(\d+)/.exec(String(await watcher.call("CLIENT", "LIST", "TYPE", "pubsub")))?.[1];
  const before = await id();
  using waiting = new Waiting(wakeups, ["a"]);
  await watcher.call("CLIENT", "KILL", "ID", await idOf(tested(client)));
  await until(() => waiting.woken.length > 0, "the waiter asks again");
  assertEquals(waiting.subscribed, [false]);
  await until(() => wakeups.subscription.open, "messages arrive again");
  const after = await id();
  assert(after !== undefined && after !== before, "over another connection");
  assertEquals(await subscribers(watcher), 1);
});

testOnServer("Wakeups closes its connection with the client", async ({ server }) => {
  const [client, watcher] = [server.connect(), server.connect()];
  const wakeups = Wakeups.of(tested(client));
  await subscribed(client);
  using waiting = new Waiting(wakeups, ["a"]);
  await client.quit();
  await until(async () => await subscribers(watcher) === 0, "it is closed");
  await until(() => !wakeups.subscription.open, "nothing arrives any more");
  await until(() => waiting.woken.length > 0, "the waiter is woken");
});

testOnServer("subscribe() that is refused is tried again while somebody waits", async ({ server }) => {
  const watcher = server.connect();
  await watcher.call("ACL", "SETUSER", "limited", "on", ">secret", "~*", "+@all", "resetchannels");
  const client = server.connect({ username: "limited", password: "secret" });
  await client.ping();
  const wakeups = Wakeups.of(tested(client));
  await idOf(tested(client));
  const before = await connections(watcher);
  using _waiting = new Waiting(wakeups, ["a"]);
  await until(() => wakeups.port.state === "ready", "the client is connected");
  wakeups.subscription.start();
  await until(() => wakeups.subscription.refusal !== undefined, "it is refused");
  assert(/ACL SETUSER limited &holdfast:\*/.test(wakeups.subscription.refusal ?? ""), wakeups.subscription.refusal);
  assert(!wakeups.subscription.open, "no messages");
  await until(async () => await connections(watcher) === before, "the second connection is closed");
  await watcher.call("ACL", "SETUSER", "limited", "&*");
  await until(() => wakeups.subscription.open, "messages arrive");
  assertEquals(wakeups.subscription.refusal, undefined);
});

/** Handles that wait, and which of them were woken. Disposing of it ends their waits. */
class Waiting implements Disposable {
  readonly woken: string[] = [];
  /** Whether messages arrived when they were. */
  readonly subscribed: boolean[] = [];
  readonly #controller = new AbortController();

  constructor(wakeups: Wakeups, handles: string[]) {
    const { signal } = this.#controller;
    for (const handle of handles) {
      wakeups.waiter(handle);
      wakeups.waiters.enqueue(handle, "1");
      wakeups.waiters.wait(handle, NEVER, signal).then(() => {
        if (signal.aborted) return;
        this.woken.push(handle);
        this.subscribed.push(wakeups.subscription.open);
      });
    }
  }

  [Symbol.dispose](): void {
    this.#controller.abort();
  }
}

/** Publishes to the channel of a client, as the scripts do; returns how many clients received it. */
async function publish(client: Redis, wakeups: Wakeups, message: string): Promise<number> {
  return await client.publish(wakeups.address.slice(1), message);
}

async function subscribers(client: Redis): Promise<number> {
  return lines(await client.call("CLIENT", "LIST", "TYPE", "pubsub"));
}

async function connections(client: Redis): Promise<number> {
  return lines(await client.call("CLIENT", "LIST"));
}

function lines(reply: unknown): number {
  return String(reply).split("\n").filter((line) => line !== "").length;
}
