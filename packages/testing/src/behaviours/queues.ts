import type { Behaviours } from "../fixture.ts";
import { acquire, type AcquireOptions, type Capability, type Claim, type Store } from "@holdfast/lock";
import { QUEUE, TRY } from "../claims.ts";
import {
  ALIVE_MS,
  busy,
  check,
  checkInTime,
  checkServed,
  claimOf,
  clock,
  granted,
  judge,
  LONG_MS,
  SHORT_MS,
  type Span,
  until,
} from "../expect.ts";

/** The number of waiters: so many that no store serves them in order by chance. */
const WAITERS = 8;

/** The behaviours of every store about its queues. */
export const queues: Behaviours = {
  async "attempt() grants the lock only to the first of the queue, whoever asks first"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    await judge(async (name) => {
      let [holder, ...waiters] = Array.from({ length: WAITERS + 1 }, () => claimOf(name, LONG_MS));
      const all = [holder!, ...waiters];
      try {
        granted(await a.attempt(holder!, TRY));
        let seen = clock.now();
        for (const waiter of waiters) busy(await b.attempt(waiter, QUEUE));
        while (waiters.length > 0) {
          const asked = clock.now();
          const newcomer = claimOf(name, LONG_MS);
          all.push(newcomer);
          // Before the release: a majority of a quorum may grant a first request before the node that has the queue
          // refuses it.
          busy(await a.attempt(newcomer, TRY));
          check(await b.release(holder!) || await a.release(holder!), "the holder releases");
          checkInTime(!(await a.attempt(newcomer, TRY)).granted, "nobody comes past the queue", seen);
          // The last one first: a store that grants to any waiter grants to that one.
          for (const waiter of waiters.slice(1).reverse()) {
            checkInTime(!(await b.attempt(waiter, QUEUE)).granted, "nobody comes past the first of the queue", seen);
          }
          const first = waiters[0]!;
          await until("the first of the queue is served", async () => (await b.attempt(first, QUEUE)).granted);
          [holder, ...waiters] = waiters;
          seen = asked;
        }
      } finally {
        await releaseAll([a, b], all);
      }
    });
  },

  async "attempt() does not come past a waiter when a lease ends"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    await judge(async (name) => {
      const [holder, waiter, newcomer] = [claimOf(name, SHORT_MS), claimOf(name, LONG_MS), claimOf(name, LONG_MS)];
      try {
        granted(await a.attempt(holder, TRY));
        for (;;) {
          const seen = clock.now();
          if ((await b.attempt(waiter, QUEUE)).granted) break;
          await clock.sleep(ALIVE_MS / 25);
          checkInTime(!(await a.attempt(newcomer, TRY)).granted, "the waiter comes first", seen);
        }
      } finally {
        await releaseAll([a, b], [holder, waiter, newcomer]);
      }
    });
  },

  async "acquire() serves the calls of one process in the order in which they were made"(fixture) {
    const store = await fixture.connect();
    for (const [what, kinds] of Object.entries(kindsOf(store.capabilities))) {
      await judge(async (suffix) => {
        const name = `${what}, ${suffix}`;
        const served: number[] = [];
        const turns: Span[] = [];
        const held = await acquire(store, name, kinds.at(-1));
        let sent = clock.now();
        const all = Array.from({ length: WAITERS }, async (_, i) => {
          const lock = await acquire(store, name, { ...kinds[i % kinds.length], wait: LONG_MS });
          served.push(i);
          turns.push({ sent, answered: clock.now() });
          sent = clock.now();
          await lock.release();
        });
        await held.release();
        await Promise.all(all);
        checkServed(served, turns, `${what}: they are served in their order`);
      });
    }
  },

  async "release() leaves the queue, and the place does not count any more"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    await judge(async (name) => {
      const [holder, waiter, other] = [claimOf(name, LONG_MS), claimOf(name, LONG_MS), claimOf(name, LONG_MS)];
      try {
        granted(await a.attempt(holder, TRY));
        busy(await b.attempt(waiter, QUEUE));
        const seen = clock.now();
        busy(await b.attempt(waiter, QUEUE));
        checkInTime(await b.release(waiter), "there was a place to leave", seen);
        check(!await b.release(waiter), "once, however often it asked");
        check(await a.release(holder), "the holder releases");
        granted(await a.attempt(other, TRY));
        check(await a.release(other), "the other one releases");
      } finally {
        await releaseAll([a, b], [holder, waiter, other]);
      }
    });
  },
};

/** Returns the kinds of consecutive waiters, by name: no waiter is granted the lock together with the next. */
function kindsOf(capabilities: readonly Capability[] = []): Readonly<Record<string, readonly AcquireOptions[]>> {
  return {
    exclusive: [{}],
    ...capabilities.includes("shared") ? { shared: [{}, { mode: "shared" }] } : {},
    ...capabilities.includes("permits") ? { permits: [{ permits: 1 }] } : {},
  };
}

/** Releases all claims of a scenario, however it has ended. */
async function releaseAll(stores: Store[], claims: Claim[]): Promise<void> {
  for (const store of stores) {
    for (const claim of claims) await store.release(claim);
  }
}
