// Deno only: it starts a front of HTTP.
import { acquire, type LockEvent } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { upstash, type UpstashRequest, type UpstashResponse } from "@holdfast/lock/upstash";
import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async";
import { subscribeOver } from "../../../../../src/stores/redis/clients/upstash/event_stream.ts";
import { ANSWER_MS, POLL_MS, UNPROVABLE } from "../../../../../src/stores/redis/constants.ts";
import { Wakeups } from "../../../../../src/stores/redis/wakeups/wakeups.ts";
import { ask, claimOf, grant } from "../../../../support/claims.ts";
import { RedisServer } from "../../../../support/redis_server.ts";
import { RestFront } from "../../../../support/rest_front.ts";
import { serverStore } from "../../../../support/server_store.ts";
import { standStill } from "../../../../support/stand_still.ts";
import { until } from "../../../../support/until.ts";
import { acquireWoken } from "../../wakeups/acquire_woken.ts";

/** Longer than a test, in milliseconds. */
const LEASE = 60_000;

function test(name: string, run: (front: RestFront, server: RedisServer) => Promise<void>): void {
  Deno.test(name, async () => {
    await using server = await RedisServer.start();
    await using front = new RestFront(server.port);
    await run(front, server);
  });
}

/** Answers a subscription in another way, and everything else as before. */
function instead(front: RestFront, answer: (run: () => Promise<Response>) => Response | Promise<Response>): void {
  front.answering = ([command], run) => command === "SUBSCRIBE" ? answer(run) : run();
}

/** Sends a request; the body of the answer comes in pieces of a byte. */
async function fetchInPieces(url: string, request: UpstashRequest): Promise<UpstashResponse> {
  const response = await fetch(url, request);
  const pieces = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, to) {
      for (let i = 0; i < chunk.length; i++) to.enqueue(chunk.subarray(i, i + 1));
    },
  });
  return {
    status: response.status,
    text: () => response.text(),
    get body() {
      return response.body?.pipeThrough(pieces);
    },
  };
}

/** Counts the commands of this kind. */
function count(front: RestFront, command: string): number {
  return front.commands.filter(([first]) => first === command).length;
}

/** Fails unless a waiter gets the lock although it hears nothing, and nothing is left. */
async function assertPolls(front: RestFront, server: RedisServer, meanwhile = async () => {}): Promise<void> {
  const lock = await acquire(upstash(front.options), "a", { lease: LEASE });
  const waiting = acquire(upstash(front.options), "a", { lease: LEASE });
  await until(() => count(front, "SUBSCRIBE") > 0, "it tries to subscribe");
  await until(async () => await server.command("ZCARD", "{lock:a}:queue") === 1, "it is queued");
  await meanwhile();
  await lock.release();
  await (await waiting).release();
  await until(() => front.subscriptions === 0, "no stream is left open");
  assertEquals(await server.leftovers(), []);
}

Deno.test("subscribeOver() of upstash() reads an event that comes behind a late timer", async () => {
  async function* events() {
    // The second one begins behind the stand-still.
    for (let i = 0; i < 2; i++) await delay(100);
    yield "data: subscribe,a,1";
    await new Promise(() => {});
  }
  const opened = Promise.withResolvers<void>();
  const failed = (error: unknown) => opened.reject(error);
  const listener = { opened: opened.resolve, message: () => {}, refused: failed, ended: failed };
  const second = subscribeOver(events, "a", listener);
  standStill(ANSWER_MS + 1_500);
  await opened.promise;
  second.close();
});

test("acquire() over upstash() is woken over the event stream, which ends then", async (front, server) => {
  const [from, to] = [upstash(front.options), upstash({ ...front.options, fetch: fetchInPieces })];
  const first = await acquire(from, "a", { lease: LEASE });
  const waiting = acquireWoken(to, "a", LEASE);
  await until(() => Wakeups.of(to).subscription.open, "the waiter is subscribed");
  // That nobody receives a message proves nothing.
  assertEquals(Wakeups.of(to).address[0], UNPROVABLE);
  // It never asks by itself after this.
  const { address } = Wakeups.of(to);
  await until(() => front.commands.some((words) => words.includes(address)), "it has asked with its address");
  await first.release();
  const lock = await waiting;
  await until(() => front.subscriptions === 0, "the stream is closed");
  await lock.release();
  assertEquals(count(front, "SUBSCRIBE"), 1);
  assertEquals(await server.leftovers(), []);
});

test("upstash() opens no event stream for those who do not wait", async (front) => {
  const client = upstash(front.options);
  await using lock = await acquire(client, "a");
  assert(!lock.signal.aborted, "it is watched");
  await lock.extend();
  assertEquals(count(front, "SUBSCRIBE"), 0);
});

test("waiters over upstash() ask every second beside the stream, or more often", async (front) => {
  const client = upstash(front.options);
  const store = serverStore(client);
  await grant(store, claimOf("a"));
  const claims = [LEASE, 900, 100].map((lease) => claimOf("a", "exclusive", lease));
  await Promise.all(claims.map((claim) => ask(store, claim)));
  await until(() => Wakeups.of(client).subscription.open, "they are subscribed");
  const asked = [];
  for (const claim of claims) asked.push(Math.round(await ask(store, claim)));
  assertEquals(asked, [1_000, 600, 167]);
  for (const claim of claims) await store.release(claim);
  await until(() => front.subscriptions === 0, "the stream is closed");
});

test("waiters over upstash() poll where there is no event stream", async (front, server) => {
  for (const status of [400, 404, 405, 500]) {
    instead(front, () => Response.json({ error: "ERR not found" }, { status }));
    front.commands.length = 0;
    const began = performance.now();
    await assertPolls(front, server);
    const tries = 1 + Math.floor((performance.now() - began) / POLL_MS);
    assert(count(front, "SUBSCRIBE") <= tries, `${status}: it is not tried again soon`);
  }
  for (const body of ["<html>It works!</html>", "", "data: subscribe"]) {
    instead(front, () => new Response(body));
    await assertPolls(front, server);
  }
});

/** Fails unless the observer of a waiter is warned with these words, and it gets the lock all the same. */
async function assertWarned(front: RestFront, words: string): Promise<void> {
  const events: LockEvent[] = [];
  const store = redis(upstash(front.options), { observer: (event) => events.push(event) });
  const lock = await acquire(upstash(front.options), "a", { lease: LEASE });
  const waiting = acquire(store, "a", { lease: LEASE });
  await until(() => events.some(({ type }) => type === "warning"), "it is warned");
  await lock.release();
  await (await waiting).release();
  const [warning] = events.filter((event) => event.type === "warning");
  assert(warning!.message.includes(words), warning!.message);
  await until(() => front.subscriptions === 0, "no stream is left open");
}

test("redis() over upstash() warns its observer when there is no event stream", async (front) => {
  instead(front, () => Response.json({ error: "ERR not found" }, { status: 404 }));
  await assertWarned(front, `there is no event stream at ${front.url}: 404`);
});

test("waiters over upstash() poll when the event stream is silent", async (front, server) => {
  // As a proxy that keeps everything back.
  instead(front, () => new Response(new ReadableStream()));
  await assertPolls(front, server);
  await assertWarned(front, "no event comes over the event stream");
});

test("waiters over upstash() poll when the event stream loses messages", async (front, server) => {
  // All but the first event.
  instead(front, async (run) => {
    const { body } = await run();
    let events = 0;
    const first = new TransformStream({ transform: (chunk, to) => void (events++ === 0 && to.enqueue(chunk)) });
    return new Response(body!.pipeThrough(first));
  });
  await assertPolls(front, server, async () => {
    await until(() => front.subscriptions > 0, "it is subscribed");
  });
});

test("waiters over upstash() subscribe again when the event stream is cut", async (front, server) => {
  await assertPolls(front, server, async () => {
    for (const times of [2, 3]) {
      await until(() => front.subscriptions > 0, "it is subscribed");
      front.cut();
      await until(() => count(front, "SUBSCRIBE") >= times, "it subscribes again");
    }
  });
});
