import { assert, assertEquals } from "@std/assert";
import { acquire, acquireAll, type AcquireOptions, type Lock, type MultiLock, tryAcquire } from "@holdfast/lock";
import { cohort, type CohortOptions } from "@holdfast/lock/cohort";
import { memory } from "@holdfast/lock/memory";
import type { Attempt, Claim } from "../../src/contract/store.ts";
import { claimOf } from "../support/claims.ts";
import { until } from "../support/until.ts";
import { settled } from "../support/virtual_clock.ts";
import { KINDS, lost, microtasks, type Process, Scene, unheard, Waiting } from "./scene.ts";

/** After so many microtasks the answer to a request that takes no time has come. */
const ANSWERED = 40;

/** How two handles may come: the first one, and another one soon after it. */
const COMING: readonly (readonly [first: string, second: string, options: AcquireOptions])[] = [
  ["tryAcquire()", "acquire()", {}],
  ["tryAcquire()", "tryAcquire()", { wait: 0 }],
  ["tryAcquire()", "a shared acquire()", { mode: "shared" }],
  ["acquire()", "acquire()", {}],
  ["acquire()", "tryAcquire()", { wait: 0 }],
  ["acquire()", "a shared acquire()", { mode: "shared" }],
];

/** Begins to acquire the lock; with `wait: 0` it may be busy. */
function begin(process: Process, { wait, ...options }: AcquireOptions): Waiting {
  return new Waiting(wait === 0 ? process.tryAcquire(options) as Promise<Lock> : process.acquire(options));
}

for (const [when, options] of KINDS) {
  for (const [first, second, claim] of COMING) {
    Deno.test(`${first} and ${second} at any microtask after it never both hold, ${when}`, async () => {
      for (let passed = 0; passed < ANSWERED; passed++) {
        const scene = new Scene();
        const here = scene.process(options);
        const one = begin(here, first === "tryAcquire()" ? { wait: 0 } : {});
        await microtasks(passed);
        const other = begin(here, claim);
        await settled();
        const both = [one, other].filter(({ lock }) => lock?.held);
        assertEquals(both.length, 1, `holders, ${passed} microtasks later`);
        await one.lock?.release();
        await (await other.promise)?.release();
        await scene.clock.advance(1_000);
        await scene.assertEmpty();
      }
    });
  }
}

/**
 * Lets the lock of a process come to its second handle after a renewal that takes 3.5 s, and calls `meanwhile` so many
 * microtasks after the reply. Returns the answers to the attempts of the second handle and of the third one.
 */
async function renewedSlowly(options: CohortOptions | undefined, passed: number, meanwhile: Meanwhile) {
  const scene = new Scene();
  const { clock, server } = scene;
  const here = scene.process(options && { ...options, keep: 10_000 });
  const [before, first, second, third] = [claimOf("a"), claimOf("a"), claimOf("a"), claimOf("a")];
  const ask = (claim: Claim) => here.store.attempt(claim, { enqueue: true });
  await server.attempt(before, { enqueue: false });
  for (const claim of [first, second, third]) await ask(claim);
  await server.release(before);
  await settled();
  assert((await ask(first)).granted);
  await clock.advance(7_000);
  const ended = new AbortController();
  for (const claim of [second, third]) {
    await ask(claim);
    here.store.wakeup!(claim, ended.signal);
  }
  let other: Promise<unknown> | undefined;
  here.line.fate = async (go, { operation }) => {
    if (operation !== "renew") return await go();
    await clock.sleep(3_500);
    const reply = await go();
    here.line.fate = (go) => go();
    microtasks(passed).then(() => other = meanwhile(here, third));
    return reply;
  };
  await here.store.release(first);
  const answer = ask(second);
  await clock.advance(4_000);
  ended.abort();
  assert(other !== undefined, "the lease was renewed for the second handle");
  return { scene, here, second, answer: await answer, other: await other };
}

type Meanwhile = (here: Process, third: Claim) => Promise<unknown>;

for (const [when, options] of KINDS) {
  Deno.test(`attempt() grants one waiter the lock as its renewal ends, ${when}`, async () => {
    for (let passed = 0; passed < ANSWERED; passed++) {
      const { answer, other } = await renewedSlowly(options, passed, (here, third) => {
        return here.store.attempt(third, { enqueue: true });
      });
      assertEquals([answer, other as Attempt].filter(({ granted }) => granted).length, 1, `${passed} microtasks later`);
    }
  });

  const revocations: [string, Meanwhile][] = [
    ["steal", (here, third) => here.store.attempt(third, { enqueue: false, steal: true })],
    ["evict", (here) => here.store.evict!("a")],
  ];
  for (const [what, revoke] of revocations) {
    Deno.test(`renew() finds a ${what} of this process amid a renewal, ${when}`, async () => {
      for (let passed = 0; passed < ANSWERED; passed++) {
        const { here, second, answer } = await renewedSlowly(options, passed, revoke);
        if (!answer.granted) continue;
        // It may have been granted the lock again, or before the revocation.
        const [holder] = (await here.store.query!()).held;
        if (holder?.owner === second.owner) continue;
        let told = false;
        here.store.revocation!(second, new AbortController().signal).then(() => told = true);
        await settled();
        assert(told, `${passed} microtasks later`);
        assertEquals(await here.store.renew(second), "lost", `${passed} microtasks later`);
      }
    });
  }
}

for (const [when, options] of KINDS) {
  Deno.test(`acquireAll() and tryAcquire() soon before it never both hold, ${when}`, async () => {
    for (let passed = 0; passed < 20; passed++) {
      const server = memory();
      const made = options && cohort(server, { ...options, linger: options.linger && 1 });
      const store = made ?? server;
      // Two handles at once: then the process knows that several want the lock.
      const first = await acquire(store, "a");
      const second = acquire(store, "a");
      await first.release();
      await (await second).release();
      await until(async () => (await server.query!()).held.length === 0, "the process has given the lock back");
      const trying = tryAcquire(store, "a");
      await microtasks(passed);
      const waiting = acquireAll(store, ["a"]);
      let locks: MultiLock | undefined;
      waiting.then((held) => locks = held);
      const lock = await trying;
      await settled();
      assert(!(lock?.held && locks?.held), `two holders, ${passed} microtasks later`);
      await lock?.release();
      await (await waiting).release();
      await made?.[Symbol.asyncDispose]();
    }
  });
}

for (const [when, options] of KINDS.slice(1)) {
  Deno.test(`acquire() keeps what it gets while its former place is given back, ${when}`, async () => {
    const scene = new Scene();
    const { clock, rival } = scene;
    const here = scene.process({ ...options, keep: 60_000 });
    const before = await rival.acquire();
    // While the first one pauses after a fault the second one asks: both have a place in the queue of the store.
    here.line.fate = unheard;
    const first = await here.wait("first", { lease: 5_000 });
    here.line.fate = (go) => go();
    const second = await here.wait("second", { lease: 5_000, meta: { label: "second" } });
    await clock.advance(100);
    await before.release();
    await settled();
    assert(first.lock !== undefined);
    // The process sleeps when the second one has just been granted the lock, for longer than the lease.
    let slept = false;
    here.line.fate = (go, call) => {
      if (call.operation !== "release" || !call.claim?.meta?.includes("second")) return go();
      if (!slept) clock.stall(6_000);
      slept = true;
      return lost(go, call);
    };
    await first.lock.release();
    await settled();
    await clock.advance(100);
    const other = await rival.wait("rival");
    here.line.fate = (go) => go();
    await clock.advance(500);
    const holders = [second, other].filter(({ lock }) => lock?.held);
    assertEquals(holders.length, 1);
    await other.lock?.release();
    await clock.advance(500);
    await (await second.promise).release();
    await clock.advance(1_000);
    await scene.assertEmpty();
  });
}
