import type { Behaviours } from "../fixture.ts";
import type { Claim, Store } from "../../store.ts";
import { QUEUE, TRY } from "../claims.ts";
import {
  ALIVE_MS,
  busy,
  check,
  checkInTime,
  claimOf,
  clock,
  granted,
  judge,
  LONG_MS,
  SHORT_MS,
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
          // Before the release: a majority of a quorum may grant a first request before the node that has the queue refuses it.
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

  async "release() leaves the queue, and the place does not count any more"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const [holder, waiter, other] = [claimOf("leave", LONG_MS), claimOf("leave", LONG_MS), claimOf("leave", LONG_MS)];
    granted(await a.attempt(holder, TRY));
    busy(await b.attempt(waiter, QUEUE));
    busy(await b.attempt(waiter, QUEUE));
    check(await b.release(waiter), "there was a place to leave");
    check(!await b.release(waiter), "once, however often it asked");
    check(await a.release(holder), "the holder releases");
    granted(await a.attempt(other, TRY));
    check(await a.release(other), "the other one releases");
  },
};

/** Releases all claims of a scenario, however it has ended. */
async function releaseAll(stores: Store[], claims: Claim[]): Promise<void> {
  for (const store of stores) {
    for (const claim of claims) await store.release(claim);
  }
}
