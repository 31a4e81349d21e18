// Deno only: it listens on ports in the place of a server.
import { assert, assertEquals } from "@std/assert";
import type { Redis } from "ioredis";
import { acquire, type Lock, tryAcquire } from "@holdfast/lock";
import { cohort } from "@holdfast/lock/cohort";
import { redis } from "@holdfast/lock/redis";
import type { Claim } from "../../src/contract/store.ts";
import { SystemClock } from "../../src/time/clock.ts";
import { REVOCATIONS } from "../../src/stores/redis/constants.ts";
import { attempt, held } from "../../src/stores/redis/scripts/generated.ts";
import { claimOf } from "../support/claims.ts";
import { inTime } from "../support/in_time.ts";
import { RedisServer } from "../support/redis_server.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";
import { HANG_MS, until } from "../support/until.ts";
import { handoffOf, KINDS, microtasks } from "./scene.ts";
import { serverStore } from "../support/server_store.ts";

/** Much longer than a test, in milliseconds. */
const LEASE = 60_000;

for (const [when, options] of KINDS) {
  Deno.test(`acquire() behind a reply of the same chunk shares no grant, ${when}`, async () => {
    await using server = await RedisServer.start();
    const client = server.connect();
    const made = options && cohort(client, options);
    const store = made ?? redis(client);
    for (let passed = 0; passed < 20; passed++) {
      // Two handles at once: then the process knows that several want the lock.
      const first = await acquire(store, `${passed}`);
      const second = acquire(store, `${passed}`);
      await first.release();
      await (await second).release();
      await until(async () => await client.exists(`lock:${passed}`) === 0, "the process has given the lock back");
      const trying = tryAcquire(store, `${passed}`);
      const end = new AbortController();
      let other: Lock | undefined;
      const looked = client.get("config").then(async () => {
        await microtasks(passed);
        return acquire(store, `${passed}`, { signal: end.signal }).then((lock) => other = lock);
      });
      const lock = await trying;
      await until(async () => await client.exists(`lock:${passed}`) === 1, "a handle holds it");
      assert(!(lock?.held && other?.held), `two holders, ${passed} microtasks after the other reply`);
      await lock?.release();
      await (await looked).release();
    }
    await made?.[Symbol.asyncDispose]();
  });

  Deno.test(`wakeup() of a member resolves when the client is closed, on Redis, ${when}`, async () => {
    await using server = await RedisServer.start();
    const [client, other] = [server.connect(), redis(server.connect())];
    const here = handoffOf(serverStore(client), new SystemClock(), options && { keep: LEASE });
    const [before, first, second] = [0, 1, 2].map(() => claimOf("a", "exclusive", LEASE)) as [Claim, Claim, Claim];
    await other.attempt(before, { enqueue: false });
    for (const claim of [first, second]) await here.attempt(claim, { enqueue: true });
    await other.release(before);
    await until(async () => (await here.attempt(first, { enqueue: true })).granted, "granted");
    // It has attempted again since it became a member.
    await here.attempt(second, { enqueue: true });
    const ended = new AbortController();
    const woken = here.wakeup!(second, ended.signal);
    client.disconnect();
    try {
      await inTime(woken, HANG_MS, "the wake-up");
    } finally {
      ended.abort();
      for (const claim of [first, second]) await here.release(claim).catch(() => {});
    }
  });
}

for (const fault of ["a late reply", "a late command"]) {
  for (const how of ["asks again", "gives up"]) {
    Deno.test(`acquire() on Redis keeps its place: ${fault}, the first ${how}`, async () => {
      await using server = await RedisServer.start();
      await using proxy = await TcpProxy.start(server.port);
      const direct = server.connect();
      const events: string[] = [];
      const client = proxy.connect({ commandTimeout: 300 });
      const here = redis(client, { observer: ({ type }) => events.push(type) });
      const there = redis(direct);
      const order: string[] = [];
      const end = new AbortController();
      const before = await acquire(there, "a", { lease: LEASE });
      const all: Promise<unknown>[] = [];
      for (const [label, store] of [["1", here], ["2", here], ["3", here], ["rival", there]] as const) {
        const signal = label === "1" ? { signal: end.signal } : {};
        const waiting = acquire(store, "a", { lease: LEASE, ...signal }).then((lock) => {
          order.push(label);
          return lock.release();
        });
        all.push(waiting.catch(() => {}));
        await until(async () => await direct.zcard("{lock:a}:queue") === all.length, `${label} waits`);
      }
      const struck = fault === "a late reply" ? proxy.stallReply(attempt.sha) : proxy.holdRequest(attempt.sha);
      await before.release();
      await struck;
      await until(() => events.includes("fault"), "the attempt has failed");
      if (how === "gives up") end.abort(new Error("enough"));
      proxy.resume();
      await Promise.all(all);
      assertEquals(order, how === "gives up" ? ["2", "3", "rival"] : ["1", "2", "3", "rival"]);
      assertEquals(await server.leftovers(), []);
    });
  }
}

/** Counts how often a client asks the server about a holder. */
function questionsOf(client: Redis): { readonly count: number } {
  const questions = { count: 0 };
  const evalsha = client.evalsha.bind(client) as (...args: unknown[]) => Promise<unknown>;
  Object.assign(client, {
    evalsha: (...args: unknown[]) => {
      if (args[0] === held.sha) questions.count++;
      return evalsha(...args);
    },
  });
  return questions;
}

for (const [when, options] of KINDS) {
  for (const how of ["steal", "evict()"]) {
    Deno.test(`acquire() on Redis hands nothing on after a ${how} elsewhere, ${when}`, async () => {
      await using server = await RedisServer.start();
      const [client, rival] = [server.connect(), server.connect()];
      const elsewhere = redis(rival);
      const made = options && cohort(client, { ...options, keep: LEASE });
      const store = made ?? client;
      const before = await acquire(rival, "a");
      const granted: Lock[] = [];
      const waiting = Array.from({ length: 5 }, async () => void granted.push(await acquire(store, "a")));
      // The assertions come first.
      for (const each of waiting) each.catch(() => {});
      await until(async () => (await redis(client).query()).pending.length === 5, "they wait");
      await until(async () => {
        const [, subscribed] = await rival.call("PUBSUB", "NUMSUB", REVOCATIONS) as [string, number];
        return Number(subscribed) === 1;
      }, "the client is subscribed");
      const asked = questionsOf(client);
      await before.release();
      for (const passed of [0, 1]) {
        await until(() => granted.length === passed + 1, "granted");
        await granted[passed]!.release();
      }
      await until(() => granted.length === 3, "handed on");
      assertEquals(asked.count, 0, "the watch sends nothing");
      const thief = how === "steal" ? await acquire(rival, "a", { steal: true }) : undefined;
      if (thief === undefined) await elsewhere.evict("a");
      await until(() => asked.count > 0, "the process is told, and asks");
      // The answer to a script that the server has to be given first takes two trips.
      for (let trip = 0; trip < 3; trip++) await client.ping();
      await granted[2]!.release().catch(() => {});
      for (let trip = 0; trip < 3; trip++) await client.ping();
      if (thief !== undefined) assertEquals(granted.length, 3, "handed on beside the thief");
      await thief?.release();
      await until(() => granted.length > 3, "the next one is served");
      assert(granted[3]!.fence > granted[2]!.fence + 1n, "not handed on");
      await granted[3]!.release();
      await until(() => granted.length > 4, "the last one is served");
      await granted[4]!.release();
      await Promise.all(waiting);
      await made?.[Symbol.asyncDispose]();
      assertEquals(await server.leftovers(), []);
    });
  }
}
