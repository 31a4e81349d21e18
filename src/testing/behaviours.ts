import { acquire } from "../acquire.ts";
import { check, claimOf, clock, freed, granted, LONG, SHORT, waiting } from "./expect.ts";
import type { StoreFixture } from "./fixture.ts";

/** What every store must show. */
export const behaviours: Record<string, (fixture: StoreFixture) => Promise<void>> = {
  async "attempt() grants a free lock and refuses a held one to other clients"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const claim = claimOf("a b:c{d}", LONG);
    granted(await a.attempt(claim, { enqueue: false }));
    const refused = await b.attempt(claimOf(claim.name, LONG), { enqueue: false });
    check("retryAfter" in refused && refused.retryAfter > 0, "a second owner is refused, and told when to ask again");
    const another = claimOf("another", LONG);
    granted(await b.attempt(another, { enqueue: false }));
    check(await a.release(claim), "the holder releases");
    check(await b.release(another), "and that of another name");
    const next = claimOf(claim.name, SHORT);
    granted(await b.attempt(next, { enqueue: false }));
    await b.release(next);
  },

  async "attempt() grants again what its owner holds, and one release frees it"(fixture) {
    const store = await fixture.connect();
    const claim = claimOf("again", LONG);
    const first = granted(await store.attempt(claim, { enqueue: true }));
    const second = granted(await store.attempt(claim, { enqueue: true }));
    check(second >= first, "the fence does not fall");
    check(await store.release(claim), "the first release frees it");
    check(!await store.release(claim), "the second one finds nothing");
    const other = claimOf("again", LONG);
    granted(await store.attempt(other, { enqueue: false }));
    await store.release(other);
  },

  async "attempt() leaves nothing behind when it does not enqueue"(fixture) {
    const store = await fixture.connect();
    const [holder, other] = [claimOf("try", LONG), claimOf("try", LONG)];
    granted(await store.attempt(holder, { enqueue: false }));
    check(!(await store.attempt(other, { enqueue: false })).granted, "the other is refused");
    check(!await store.release(other), "the other is not queued");
    await store.release(holder);
  },

  async "renew() extends the lease"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const claim = claimOf("renew", SHORT);
    granted(await a.attempt(claim, { enqueue: false }));
    check(await a.renew({ ...claim, lease: LONG }) === "renewed", "renewed");
    await clock.sleep(SHORT + 50);
    check(!(await b.attempt(claimOf("renew", LONG), { enqueue: false })).granted, "still held after the old lease");
    check(await a.renew({ ...claim, lease: SHORT }) === "renewed", "renewed again");
    await freed(b, "renew");
  },

  async "renew() gives lost after the lease has ended"(fixture) {
    const store = await fixture.connect();
    const claim = claimOf("ended", SHORT);
    granted(await store.attempt(claim, { enqueue: false }));
    await clock.sleep(SHORT + 50);
    check(await store.renew(claim) === "lost", "lost");
    check(!await store.release(claim), "nothing to release");
  },

  async "renew() and release() by a stranger change nothing"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const claim = claimOf("mine", LONG);
    const stranger = claimOf("mine", SHORT);
    granted(await a.attempt(claim, { enqueue: false }));
    check(await b.renew(stranger) === "lost", "a stranger does not renew");
    check(!await b.release(stranger), "a stranger does not release");
    check(await a.renew(claim) === "renewed", "the holder still holds it");
    check(await a.release(claim), "the holder releases");
  },

  async "acquire() serves live waiters first come, first served"(fixture) {
    const holder = await fixture.connect();
    const claim = claimOf("fifo", LONG);
    granted(await holder.attempt(claim, { enqueue: false }));
    const served: number[] = [];
    const waiters: Promise<void>[] = [];
    for (let i = 0; i < 6; i++) {
      const store = await fixture.connect();
      const { lock, queued } = waiting(store, "fifo", { lease: LONG });
      waiters.push(lock.then(async (lock) => {
        served.push(i);
        await lock.release();
      }));
      await queued;
    }
    await holder.release(claim);
    await Promise.all(waiters);
    check(served.join() === "0,1,2,3,4,5", `in order: ${served}`);
  },

  async "acquire() that is aborted leaves no trace, and the next waiter is served"(fixture) {
    const [a, b, c] = [await fixture.connect(), await fixture.connect(), await fixture.connect()];
    const claim = claimOf("abort", LONG);
    granted(await a.attempt(claim, { enqueue: false }));
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
    granted(await a.attempt(claimOf("died", SHORT), { enqueue: false }));
    await freed(b, "died");
  },

  async "acquire() gets the lock although a waiter ahead has died"(fixture) {
    const [a, b, c] = [await fixture.connect(), await fixture.connect(), await fixture.connect()];
    const claim = claimOf("dead", LONG);
    const dead = claimOf("dead", SHORT);
    granted(await a.attempt(claim, { enqueue: false }));
    check(!(await b.attempt(dead, { enqueue: true })).granted, "queued, and never heard of again");
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

  async "fences rise after release, expiry and restart"(fixture) {
    let store = await fixture.connect();
    let last = 0n;
    const next = async (lease: number) => {
      const claim = claimOf("fence", lease);
      const fence = granted(await store.attempt(claim, { enqueue: false }));
      check(fence > last, `${fence} after ${last}`);
      last = fence;
      return claim;
    };
    for (let i = 0; i < 10; i++) await store.release(await next(LONG));
    await next(SHORT);
    await clock.sleep(SHORT + 50);
    await store.release(await next(LONG));
    if (fixture.restart === undefined) return;
    await fixture.restart();
    store = await fixture.connect();
    await store.release(await next(LONG));
  },

  async "wakeup() resolves when its signal aborts"(fixture) {
    const store = await fixture.connect();
    if (store.wakeup === undefined) return;
    const [holder, waiter] = [claimOf("wake", LONG), claimOf("wake", LONG)];
    granted(await store.attempt(holder, { enqueue: false }));
    await store.attempt(waiter, { enqueue: true });
    const controller = new AbortController();
    const woken = store.wakeup(waiter, controller.signal);
    controller.abort();
    await woken;
    check(await store.release(waiter), "it gives up its place");
    await store.release(holder);
  },
};
