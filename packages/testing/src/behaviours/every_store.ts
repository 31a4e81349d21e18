import { acquire, type Store } from "@holdfast/lock";
import { QUEUE, TRY } from "../claims.ts";
import {
  busy,
  check,
  checkFreed,
  checkInTime,
  checkServed,
  claimOf,
  clock,
  freed,
  granted,
  inTime,
  judge,
  LONG_MS,
  SHORT_MS,
  type Span,
  waiting,
} from "../expect.ts";
import type { Behaviours } from "../fixture.ts";

/** The behaviours of every store. */
export const everyStore: Behaviours = {
  async "attempt() grants a free lock and refuses a held one to other clients"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const claim = claimOf("a b:c{d}", LONG_MS);
    granted(await a.attempt(claim, TRY));
    busy(await b.attempt(claimOf(claim.name, LONG_MS), TRY));
    busy(await b.attempt(claimOf(claim.name, LONG_MS), TRY));
    const another = claimOf("another", LONG_MS);
    granted(await b.attempt(another, TRY));
    check(await b.release(another), "that of another name is released");
    const next = claimOf(claim.name, SHORT_MS);
    await checkFreed(a, claim, b, next);
    await b.release(next);
  },

  async "attempt() grants again what its owner holds, and one release frees it"(fixture) {
    const store = await fixture.connect();
    const claim = claimOf("again", LONG_MS);
    const first = granted(await store.attempt(claim, QUEUE));
    const second = granted(await store.attempt(claim, QUEUE));
    check(second >= first, "the fence does not fall");
    check(await store.release(claim), "the first release frees it");
    check(!await store.release(claim), "the second one finds nothing");
    const other = claimOf("again", LONG_MS);
    granted(await store.attempt(other, TRY));
    await store.release(other);
  },

  async "attempt() leaves nothing behind when it does not enqueue"(fixture) {
    const store = await fixture.connect();
    const [holder, other] = [claimOf("try", LONG_MS), claimOf("try", LONG_MS)];
    granted(await store.attempt(holder, TRY));
    check(!(await store.attempt(other, TRY)).granted, "the other is refused");
    check(!await store.release(other), "the other is not queued");
    await store.release(holder);
  },

  async "renew() extends the lease"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    await judge(async (name) => {
      const claim = claimOf(name, SHORT_MS);
      const began = clock.now();
      granted(await a.attempt(claim, TRY));
      checkInTime(await a.renew({ ...claim, lease: LONG_MS }) === "renewed", "renewed", began, SHORT_MS / 2);
      await clock.sleep(SHORT_MS + 50);
      check(!(await b.attempt(claimOf(name, LONG_MS), TRY)).granted, "still held after the old lease");
      const again = clock.now();
      checkInTime(await a.renew({ ...claim, lease: SHORT_MS }) === "renewed", "renewed again", again, SHORT_MS / 2);
      await freed(b, name);
    });
  },

  async "renew() that arrives after a later one leaves the lease as it is"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    await judge(async (name) => {
      const claim = claimOf(name, SHORT_MS);
      const began = clock.now();
      granted(await a.attempt(claim, TRY));
      const shorter = { ...claim, lease: SHORT_MS, renewal: 1 };
      for (const renewal of [shorter, { ...claim, lease: LONG_MS, renewal: 2 }]) {
        checkInTime(await a.renew(renewal) === "renewed", `renewed for ${renewal.lease} ms`, began, SHORT_MS / 2);
      }
      // As a client does that was cut off and sends again what was not answered.
      check(await a.renew(shorter) === "renewed", "the first one again");
      check(await a.renew(claim) === "renewed", "and one that was sent before there was a number");
      await clock.sleep(SHORT_MS + 50);
      check(!(await b.attempt(claimOf(name, LONG_MS), TRY)).granted, "held as long as its holder believes");
      const later = clock.now();
      const shortened = await a.renew({ ...claim, lease: SHORT_MS, renewal: 3 });
      checkInTime(shortened === "renewed", "a later one makes the lease shorter", later, SHORT_MS / 2);
      await freed(b, name);
    });
  },

  async "renew() gives lost after the lease has ended"(fixture) {
    const store = await fixture.connect();
    const claim = claimOf("ended", SHORT_MS);
    granted(await store.attempt(claim, TRY));
    await clock.sleep(SHORT_MS + 50);
    check(await store.renew(claim) === "lost", "lost");
    check(!await store.release(claim), "nothing to release");
  },

  async "renew() and release() by a rival change nothing"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    await judge(async (name) => {
      const claim = claimOf(name, LONG_MS);
      const [rival, waiter] = [claimOf(name, SHORT_MS), claimOf(name, SHORT_MS)];
      try {
        granted(await a.attempt(claim, TRY));
        const seen = clock.now();
        busy(await b.attempt(waiter, QUEUE));
        check(await b.renew(rival) === "lost", "a rival does not renew");
        check(await b.renew(waiter) === "lost", "nor does a waiter");
        check(!await b.release(rival), "a rival does not release");
        checkInTime(await b.release(waiter), "the waiter leaves the queue", seen);
        await clock.sleep(SHORT_MS + 50);
        busy(await b.attempt(claimOf(name, LONG_MS), TRY));
        check(await a.renew({ ...claim, lease: SHORT_MS }) === "renewed", "the holder still holds it");
        check(await b.renew({ ...rival, lease: LONG_MS }) === "lost", "a rival does not renew for longer either");
        await freed(b, name);
      } finally {
        await a.release(claim);
      }
    });
  },

  async "acquire() serves live waiters first come, first served"(fixture) {
    const holder = await fixture.connect();
    const stores: Store[] = [];
    for (let i = 0; i < 6; i++) stores.push(await fixture.connect());
    await judge(async (name) => {
      const claim = claimOf(name, LONG_MS);
      granted(await holder.attempt(claim, TRY));
      const served: number[] = [];
      const turns: Span[] = [];
      let sent = clock.now();
      const waiters: Promise<void>[] = [];
      for (const [i, store] of stores.entries()) {
        const { lock, queued } = waiting(store, name, { lease: LONG_MS });
        waiters.push(lock.then(async (lock) => {
          served.push(i);
          turns.push({ sent, answered: clock.now() });
          sent = clock.now();
          await lock.release();
        }));
        await Promise.race([queued, lock]);
      }
      sent = clock.now();
      await holder.release(claim);
      await Promise.all(waiters);
      checkServed(served, turns, "they are served in their order");
    });
  },

  async "acquire() that is aborted leaves no trace, and the next waiter is served"(fixture) {
    const [a, b, c] = [await fixture.connect(), await fixture.connect(), await fixture.connect()];
    const claim = claimOf("abort", LONG_MS);
    granted(await a.attempt(claim, TRY));
    const controller = new AbortController();
    const { lock, queued } = waiting(b, "abort", { signal: controller.signal });
    const aborted = lock.catch((error: unknown) => error);
    await queued;
    const next = acquire(c, "abort");
    controller.abort("enough");
    check(await aborted === "enough", "it rejects with the reason of the signal");
    await a.release(claim);
    await (await next).release();
  },

  async "acquire() gets the lock after its holder has died"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    granted(await a.attempt(claimOf("died", SHORT_MS), TRY));
    await freed(b, "died");
  },

  async "acquire() gets the lock although a waiter ahead has died"(fixture) {
    const [a, b, c] = [await fixture.connect(), await fixture.connect(), await fixture.connect()];
    const claim = claimOf("dead", LONG_MS);
    const dead = claimOf("dead", SHORT_MS);
    granted(await a.attempt(claim, TRY));
    check(!(await b.attempt(dead, QUEUE)).granted, "queued, and then silent");
    const waiting = freed(c, "dead");
    await a.release(claim);
    await waiting;
    await b.release(dead);
  },

  async "acquire() never lets two clients in at once"(fixture) {
    let [inside, sections] = [0, 0];
    let last = 0n;
    await Promise.all(Array.from({ length: 8 }, async () => {
      const store = await fixture.connect();
      for (let i = 0; i < 10; i++) {
        const lock = await acquire(store, "mutex");
        check(++inside === 1, "alone");
        check(lock.fence > last, "the fence rises");
        last = lock.fence;
        await clock.sleep(0);
        inside--;
        sections++;
        await lock.release();
      }
    }));
    check(sections === 80, "all sections ran");
  },

  async "attempt() makes fences rise after release, expiry and restart"(fixture) {
    let store = await fixture.connect();
    let last = 0n;
    const next = async (lease: number) => {
      const claim = claimOf("fence", lease);
      const fence = granted(await store.attempt(claim, TRY));
      check(fence > last, `${fence} after ${last}`);
      last = fence;
      return claim;
    };
    for (let i = 0; i < 10; i++) await store.release(await next(LONG_MS));
    await next(SHORT_MS);
    await clock.sleep(SHORT_MS + 50);
    await store.release(await next(LONG_MS));
    if (fixture.restart === undefined) return;
    await fixture.restart();
    store = await fixture.connect();
    await store.release(await next(LONG_MS));
  },

  async "wakeup() resolves when its signal aborts"(fixture) {
    const store = await fixture.connect();
    if (store.wakeup === undefined) return;
    await judge(async (name) => {
      const [holder, waiter] = [claimOf(name, LONG_MS), claimOf(name, LONG_MS)];
      granted(await store.attempt(holder, TRY));
      const seen = clock.now();
      await store.attempt(waiter, QUEUE);
      const controller = new AbortController();
      const woken = store.wakeup!(waiter, controller.signal);
      controller.abort();
      await inTime("wakeup() resolves when its signal aborts", woken);
      await inTime("also when that has aborted before", store.wakeup!(waiter, controller.signal));
      const left = await store.release(waiter);
      await store.release(holder);
      checkInTime(left, "it leaves the queue", seen);
    });
  },
};
