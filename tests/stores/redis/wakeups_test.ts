import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Redis } from "ioredis";
import { getEventListeners } from "node:events";
import { NEXT, TURN } from "../../../src/stores/redis/scripts.ts";
import { Wakeups } from "../../../src/stores/redis/wakeups.ts";
import { until } from "../../faults/until.ts";
import { RedisServer } from "../../redis_server.ts";

/** Longer than these tests wait for anything, in milliseconds. */
const NEVER = 60_000;

Deno.test("Wakeups.of() gives one for each client", async () => {
  await using server = await RedisServer.start();
  const [client, other] = [server.connect(), server.connect()];
  const [one, same, another] = [Wakeups.of(client), Wakeups.of(client), Wakeups.of(other)];
  assert(one === same && one !== another, "one for each");
  assert(one.reach !== another.reach, "with a channel of its own");
});

Deno.test("subscribe() makes one connection, of which the client's database and prefix are no concern", async () => {
  await using server = await RedisServer.start();
  const client = server.connect({ keyPrefix: "app:", db: 3 });
  const wakeups = Wakeups.of(client);
  assert(!wakeups.subscribed && !wakeups.hearing, "nobody waits yet");
  assertEquals(await subscribers(client), 0);
  await Promise.all([wakeups.subscribe(), wakeups.subscribe()]);
  await wakeups.subscribe();
  assert(wakeups.subscribed, "messages arrive");
  assertEquals(await subscribers(client), 1);
  assertEquals(await tell(client, wakeups, TURN + "nobody"), 1);
});

Deno.test("wait() resolves on the owner's turn, and nobody else's", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const wakeups = Wakeups.of(client);
  await wakeups.subscribe();
  using waiting = new Waiting(wakeups, ["a", "b"]);
  await tell(client, wakeups, TURN + "nobody");
  await tell(client, wakeups, TURN);
  await tell(client, wakeups, TURN + "b");
  await until(() => Promise.resolve(waiting.woken.length > 0), "b is woken");
  assertEquals(waiting.woken, ["b"]);
});

Deno.test("wait() resolves at once, and once, when the wake-up came before it", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const wakeups = Wakeups.of(client);
  await wakeups.subscribe();
  wakeups.enter("a");
  await tell(client, wakeups, TURN + "a");
  // Messages come in order: when the second one is heard, so is the first.
  using second = new Waiting(wakeups, ["b"]);
  await tell(client, wakeups, TURN + "b");
  await until(() => Promise.resolve(second.woken.length > 0), "b is woken");
  using early = new Waiting(wakeups, ["a"]);
  await until(() => Promise.resolve(early.woken.length > 0), "a is woken");
  using again = new Waiting(wakeups, ["a"]);
  await tell(client, wakeups, TURN + "b");
  using third = new Waiting(wakeups, ["b"]);
  await until(() => Promise.resolve(third.woken.length > 0), "b is woken again");
  assertEquals(again.woken, []);
});

Deno.test("wait() resolves some time after the owner became the next one", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const wakeups = Wakeups.of(client);
  await wakeups.subscribe();
  using waiting = new Waiting(wakeups, ["a"], 100);
  const began = performance.now();
  await tell(client, wakeups, NEXT + "a");
  await until(() => Promise.resolve(waiting.woken.length > 0), "a is woken");
  assert(performance.now() - began >= 100, "not before");
});

Deno.test("wait() of the next one resolves on its turn or its signal, and leaves no timer", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const wakeups = Wakeups.of(client);
  await wakeups.subscribe();
  for (const end of ["turn", "signal"]) {
    using waiting = new Waiting(wakeups, ["a"]);
    // The second one takes the place of the first.
    for (let i = 0; i < 2; i++) await tell(client, wakeups, NEXT + "a");
    if (end === "signal") continue;
    await tell(client, wakeups, TURN + "a");
    await until(() => Promise.resolve(waiting.woken.length > 0), "a is woken");
  }
});

Deno.test("wait() resolves when its signal aborts, and leaves no listener", async () => {
  await using server = await RedisServer.start();
  const wakeups = Wakeups.of(server.connect());
  for (const owner of ["entered", "unknown"]) {
    const controller = new AbortController();
    if (owner === "entered") wakeups.enter(owner);
    const waiting = wakeups.wait(owner, NEVER, controller.signal);
    controller.abort();
    await waiting;
    await wakeups.wait(owner, NEVER, controller.signal);
    assertEquals(getEventListeners(controller.signal, "abort").length, 0);
  }
});

Deno.test("enter() gives the ticket that was kept for an owner, until it leaves", async () => {
  await using server = await RedisServer.start();
  const wakeups = Wakeups.of(server.connect());
  assertEquals(wakeups.enter("a"), "");
  wakeups.keep("a", "17");
  assertEquals([wakeups.enter("a"), wakeups.enter("b")], ["17", ""]);
  wakeups.keep("a", "");
  assertEquals(wakeups.enter("a"), "17", "it stays its own");
  wakeups.leave("a");
  wakeups.keep("a", "18");
  assertEquals(wakeups.enter("a"), "", "what comes after it has left is not its own");
});

Deno.test("Wakeups wakes everybody when its connection is cut, and when it has subscribed anew", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const wakeups = Wakeups.of(client);
  await wakeups.subscribe();
  assert(wakeups.hearing, "messages arrive");
  using cut = new Waiting(wakeups, ["a", "b"]);
  assertEquals(await client.call("CLIENT", "KILL", "TYPE", "pubsub"), 1);
  await until(() => Promise.resolve(cut.woken.length === 2), "both are woken");
  assertEquals(cut.hearing, [false, false]);
  using subscribed = new Waiting(wakeups, ["a", "b"]);
  await until(() => Promise.resolve(subscribed.woken.length === 2), "both are woken again");
  assertEquals(subscribed.hearing, [true, true]);
  using again = new Waiting(wakeups, ["a", "b"]);
  await tell(client, wakeups, TURN + "a");
  await until(() => Promise.resolve(again.woken.length > 0), "a is woken");
  assertEquals(again.woken, ["a"]);
  assertEquals(await subscribers(client), 1);
});

Deno.test("Wakeups counts how often the client itself was cut off", async () => {
  await using server = await RedisServer.start();
  const [client, watcher] = [server.connect(), server.connect()];
  const wakeups = Wakeups.of(client);
  const id = await client.client("ID");
  assertEquals(wakeups.cuts, 0);
  await watcher.call("CLIENT", "KILL", "ID", String(id));
  await until(() => Promise.resolve(wakeups.cuts === 1), "it is counted");
});

Deno.test("Wakeups makes its connection anew when the client was cut off, lest it stay with another server", async () => {
  await using server = await RedisServer.start();
  const [client, watcher] = [server.connect(), server.connect()];
  const wakeups = Wakeups.of(client);
  await wakeups.subscribe();
  const listening = async () => /^id=(\d+)/.exec(String(await watcher.call("CLIENT", "LIST", "TYPE", "pubsub")))?.[1];
  const before = await listening();
  using waiting = new Waiting(wakeups, ["a"]);
  await watcher.call("CLIENT", "KILL", "ID", String(await client.client("ID")));
  await until(() => Promise.resolve(waiting.woken.length > 0), "whoever waits asks again");
  assertEquals(waiting.hearing, [false]);
  await until(() => Promise.resolve(wakeups.hearing), "messages arrive again");
  const after = await listening();
  assert(after !== undefined && after !== before, "over another connection");
  assertEquals(await subscribers(watcher), 1);
});

Deno.test("Wakeups closes its connection with the client", async () => {
  await using server = await RedisServer.start();
  const [client, watcher] = [server.connect(), server.connect()];
  const wakeups = Wakeups.of(client);
  await wakeups.subscribe();
  using waiting = new Waiting(wakeups, ["a"]);
  await client.quit();
  await until(async () => await subscribers(watcher) === 0, "it is closed");
  await until(() => Promise.resolve(!wakeups.subscribed), "nothing arrives any more");
  await until(() => Promise.resolve(waiting.woken.length > 0), "whoever waits finds out");
});

Deno.test("subscribe() rejects when the user may not, closes its connection, and may be tried again", async () => {
  await using server = await RedisServer.start();
  const watcher = server.connect();
  await watcher.call("ACL", "SETUSER", "limited", "on", ">secret", "~*", "+@all", "resetchannels");
  const client = server.connect({ username: "limited", password: "secret" });
  const wakeups = Wakeups.of(client);
  await assertRejects(() => wakeups.subscribe(), Error, "NOPERM");
  assert(!wakeups.subscribed, "no messages");
  await until(async () => await connections(watcher) === 2, "the second connection is closed");
  await watcher.call("ACL", "SETUSER", "limited", "&*");
  await wakeups.subscribe();
  assert(wakeups.subscribed, "messages arrive");
});

/** Owners that wait, and which of them were woken; it ends their waits. */
class Waiting implements Disposable {
  readonly woken: string[] = [];
  /** Whether messages arrived when they were. */
  readonly hearing: boolean[] = [];
  readonly #controller = new AbortController();

  constructor(wakeups: Wakeups, owners: string[], standby = NEVER) {
    const { signal } = this.#controller;
    for (const owner of owners) {
      wakeups.enter(owner);
      wakeups.wait(owner, standby, signal).then(() => {
        if (signal.aborted) return;
        this.woken.push(owner);
        this.hearing.push(wakeups.hearing);
      });
    }
  }

  [Symbol.dispose](): void {
    this.#controller.abort();
  }
}

/** Publishes to the channel of a client, as the scripts do; gives how many heard it. */
async function tell(client: Redis, wakeups: Wakeups, message: string): Promise<number> {
  return await client.publish(wakeups.reach.slice(1), message);
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
