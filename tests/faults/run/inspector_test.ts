// Deno only: it tests a tool for Deno.
import { assert, assertEquals } from "@std/assert";
import { acquire, type Store } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { RedisServer } from "../../support/redis_server.ts";
import { until } from "../../support/until.ts";
import { Inspector } from "./inspector.ts";
import { redisView } from "./redis/view.ts";
import { Trace } from "./trace.ts";
import type { Look } from "./view.ts";
import { Witness } from "./witness.ts";
import type { Remains } from "./work.ts";

/** Returns a lock on a server, and the looks at what is left of it. */
async function scene(stack: AsyncDisposableStack, spoil: (store: Store) => void = () => {}) {
  const server = stack.use(await RedisServer.start());
  const store = redis(server.connect());
  spoil(store);
  const witness = new Witness(Date.now);
  witness.watchHandles(witness.watch(store));
  const reported: Remains[] = [];
  const inspector = new Inspector([redisView(server.connect())], Date.now, (remains) => reported.push(remains));
  const take = async (signal?: AbortSignal) => {
    const trace = new Trace();
    const lock = await witness.run(trace, () => acquire(store, "a", { lease: 60_000, ...(signal && { signal }) }))
      .catch(() => undefined);
    if (lock !== undefined) witness.granted(trace, "a", lock.fence);
    return { trace, lock };
  };
  const over = async (trace: Trace, end: string) => {
    trace.end();
    await Promise.all(trace.leftovers(end).map((leftover) => inspector.over("a", leftover)));
  };
  return { server, reported, take, over };
}

Deno.test("Inspector.over() finds nothing of a lock that was released", async () => {
  await using stack = new AsyncDisposableStack();
  const { reported, take, over } = await scene(stack);
  const { trace, lock } = await take();
  await lock!.release();
  await over(trace, "released");
  assertEquals(reported.map(({ atOnce, gone }) => ({ atOnce, gone })), [{ atOnce: false, gone: true }]);
});

Deno.test("Inspector.over() finds at once that a release was never sent", async () => {
  await using stack = new AsyncDisposableStack();
  const { server, reported, take, over } = await scene(stack, (store) => store.release = () => Promise.resolve(true));
  const { trace, lock } = await take();
  await lock!.release();
  await over(trace, "released");
  await server.command("DEL", "lock:a");
  await until(() => reported.length > 0, "it is gone");
  const [{ atOnce, gone, since, until: seen }] = reported as [Remains];
  assertEquals([atOnce, gone], [true, true]);
  assert(seen >= since);
});

Deno.test("Inspector.over() finds a queue entry without a waiter for as long as it remains", async () => {
  await using stack = new AsyncDisposableStack();
  const { server, reported, take, over } = await scene(stack, (store) => store.release = () => Promise.resolve(true));
  const { lock: holder } = await take();
  const abort = new AbortController();
  const waiting = take(abort.signal);
  const client = server.connect();
  await until(async () => await client.zcard("{lock:a}:queue") === 1, "it waits");
  abort.abort();
  const { trace } = await waiting;
  await over(trace, "aborted");
  assertEquals(reported, []);
  await server.command("DEL", "{lock:a}:queue", "{lock:a}:waiters");
  await until(() => reported.length > 0, "it is gone");
  assertEquals(reported.map(({ end, atOnce, gone }) => ({ end, atOnce, gone })), [
    { end: "aborted", atOnce: undefined, gone: true },
  ]);
  await holder!.release();
});

Deno.test("Inspector.over() tells what is kept of a waiter from a lock", async () => {
  await using stack = new AsyncDisposableStack();
  const { server, reported, take, over } = await scene(stack);
  for (const held of [false, true]) {
    const { trace, lock } = await take();
    await lock!.release();
    await server.command("HSET", "{lock:a}:waiters", lock!.owner, "x");
    if (held) await server.command("SET", "lock:a", lock!.owner);
    await over(trace, "released");
    await server.command("DEL", "lock:a", "{lock:a}:waiters");
    await until(() => reported.length > 0, "it is gone");
    assertEquals(reported.splice(0).map(({ held, gone }) => ({ held, gone })), [{ held, gone: true }]);
  }
});

Deno.test("Inspector.over() allows a minority to be behind, and needs a majority to prove", async () => {
  const ids = new Set(["x"]);
  const has = { eval: () => Promise.resolve([1, 1]) };
  const empty = { eval: () => Promise.resolve([0, 0]) };
  const silent = { eval: () => Promise.reject(new Error("no answer")) };
  for (
    const [clients, atOnce] of [
      [[empty, empty, empty], false],
      [[empty, empty, silent], false],
      [[empty, silent, silent], undefined],
      [[has, has, empty], true],
    ] as const
  ) {
    const reported: Remains[] = [];
    // The clock runs so fast that it is not looked a third time.
    let time = 0;
    const inspector = new Inspector(clients.map(redisView), () => time += 10_000, (remains) => reported.push(remains));
    await inspector.over("a", { end: "released", last: ids, ids });
    await until(() => reported.length > 0, "it is reported");
    assertEquals(reported[0]!.atOnce, atOnce);
    assertEquals(reported[0]!.gone, clients[0] !== has, "who does not answer proves nothing");
  }
});

Deno.test("Inspector.over() looks at a lease that was handed on until it is used", async () => {
  const ids = new Set(["x"]);
  for (const usedAfter of [0, 2, Infinity]) {
    const reported: Remains[] = [];
    let time = 0;
    let looks = 0;
    const has = { eval: () => Promise.resolve((looks++, [1, 1])) };
    const inspector = new Inspector([redisView(has)], () => time += 4_000, (remains) => reported.push(remains));
    const used = () => looks >= usedAfter;
    await inspector.over("a", { end: "handed on", last: ids, ids, used });
    await until(() => reported.length > 0 || used(), "it is reported or used");
    assertEquals(reported.map(({ gone }) => gone), usedAfter === Infinity ? [false] : []);
    assert(looks <= Math.max(usedAfter, 0), "it is not looked at once it is used");
  }
});

Deno.test("Inspector.over() waits for a dead waiter for as long as others are ahead of it", async () => {
  for (const behind of [1, 0]) {
    let now = 0;
    const replies = [[1, 0, behind], [1, 0, behind], [1, 0, 0], [0, 0, 0]];
    const evaluator = {
      eval: () => {
        now += 10_000;
        return Promise.resolve(replies.shift());
      },
    };
    const reported: Remains[] = [];
    const inspector = new Inspector([redisView(evaluator)], () => now, (remains) => reported.push(remains));
    const ids = new Set(["x"]);
    await inspector.over("a", { end: "timeout", last: ids, ids });
    await until(() => reported.length > 0, "it is reported");
    assertEquals(reported[0]!.gone, behind === 1);
  }
});

/** Returns whether something is gone in the end that is seen, by answers that come 6 s after each other. */
async function goneAfter(answers: readonly (boolean | undefined)[]): Promise<boolean> {
  let now = 0;
  const left = [...answers];
  const look = (): Promise<Look> => {
    now += 6_000;
    const present = left.length > 1 ? left.shift() : left[0];
    if (present === undefined) return Promise.reject(new Error("no answer"));
    return Promise.resolve({ present, held: present, behind: false });
  };
  const reported: Remains[] = [];
  const inspector = new Inspector([{ look }], () => now, (remains) => reported.push(remains));
  await inspector.over("a", { end: "lost", last: new Set(["x"]), ids: new Set(["x"]) });
  await until(() => reported.length > 0, "it is reported");
  return reported[0]!.gone;
}

Deno.test("Inspector.over() waits as long as nothing answers, but not for ever", async () => {
  assertEquals(await goneAfter([true, undefined, undefined, true, false]), true);
  assertEquals(await goneAfter([true, true, true, true, false]), false);
  // What is never seen again may be gone.
  assertEquals(await goneAfter([true, undefined]), true);
  assertEquals(await goneAfter([true, undefined, undefined, undefined, undefined, undefined, true]), false);
});

Deno.test("Inspector.look() does not wait for a view that never answers", async () => {
  const inspector = new Inspector([{ look: () => new Promise(() => {}) }], Date.now, () => {});
  assertEquals(await inspector.look("a", new Set()), [undefined]);
});

Deno.test("Inspector.over() looks twice, no more, where what is seen may be a moment old", async () => {
  const [gone, there] = [{ present: false, held: false, behind: false }, { present: true, held: true, behind: false }];
  for (const [mayBeBehind, times, atOnce] of [[false, 1, true], [true, 1, false], [true, 2, true]] as const) {
    const reported: Remains[] = [];
    let looks = 0;
    const view = { look: () => Promise.resolve(looks++ < times ? there : gone) };
    const inspector = new Inspector([view], Date.now, (remains) => reported.push(remains), mayBeBehind);
    await inspector.over("a", { end: "released", last: new Set(["h"]), ids: new Set(["h"]) });
    await until(() => reported.length > 0, "it is reported");
    assertEquals(reported[0]!.atOnce, atOnce);
  }
});
