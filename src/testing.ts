/**
 * The behaviours that every {@linkcode Store} must show, as tests for any test runner.
 *
 * @example Test a store
 * ```ts ignore
 * import { storeSuite } from "@holdfast/lock/testing";
 * import { memory } from "@holdfast/lock/memory";
 *
 * storeSuite({
 *   test: (name, run) => Deno.test(name, run),
 *   open: () => {
 *     const store = memory();
 *     return { connect: () => store, close: () => {} };
 *   },
 * });
 * ```
 *
 * @module
 */
import { elapsed, SystemClock } from "./_clock.ts";
import { acquire } from "./acquire.ts";
import type { Attempt, Claim, Store } from "./store.ts";

/** One place where locks are kept, opened anew for each test. */
export interface StoreFixture {
  /** Another client of the same place. */
  connect(): Store | Promise<Store>;
  /** What is left there, fences aside: the names of keys, rows or entries. */
  leftovers?(): string[] | Promise<string[]>;
  /** Stops the place and starts it again, as after a crash, where that can be done. */
  restart?(): void | Promise<void>;
  /** Closes all clients, and the place. */
  close(): void | Promise<void>;
}

/** What {@linkcode storeSuite} takes. */
export interface StoreSuiteOptions {
  /** Defines a test: `Deno.test`, `node:test`'s `test`, and so on. */
  test: (name: string, run: () => Promise<void>) => void;
  /** Opens an empty place for the locks of one test. */
  open: () => StoreFixture | Promise<StoreFixture>;
}

const clock = new SystemClock();

/** Long enough not to end during a step of a test on a busy machine, in milliseconds. */
const LONG = 60_000;

/** Short enough to wait for, in milliseconds. */
const SHORT = 200;

/** How much later than its lease a lock may become free, in milliseconds; wide, for machines under load. */
const GRACE = 5_000;

/**
 * Defines the tests. Each opens a place of its own, and fails unless nothing is left there.
 *
 * @example
 * ```ts ignore
 * import { test } from "node:test";
 * import { storeSuite } from "@holdfast/lock/testing";
 * import { sqlite } from "@holdfast/lock/sqlite";
 *
 * storeSuite({
 *   test,
 *   open: () => {
 *     const store = sqlite(":memory:");
 *     return { connect: () => store, close: () => store.close() };
 *   },
 * });
 * ```
 *
 * @param options the runner's test function, and how to open a place for locks
 */
export function storeSuite({ test, open }: StoreSuiteOptions): void {
  for (const [name, behaviour] of Object.entries(behaviours)) {
    test(name, async () => {
      const fixture = await open();
      try {
        await behaviour(fixture);
        await until("nothing is left", async () => (await fixture.leftovers?.() ?? []).length === 0);
      } finally {
        await fixture.close();
      }
    });
  }
}

const behaviours: Record<string, (fixture: StoreFixture) => Promise<void>> = {
  async "attempt() grants a free lock and refuses a held one to other clients"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const claim = claimOf("a b:c{d}", LONG);
    granted(await a.attempt(claim, { enqueue: false }));
    const refused = await b.attempt(claimOf(claim.name, LONG), { enqueue: false });
    check(!refused.granted && refused.retryAfter > 0, "a second owner is refused, and told when to ask again");
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
      await new Promise<void>((queued) => {
        waiters.push(
          acquire(watched(store, queued), "fifo", { lease: LONG }).then(async (lock) => {
            served.push(i);
            await lock.release();
          }),
        );
      });
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
    let aborted: Promise<unknown> | undefined;
    await new Promise<void>((queued) => {
      aborted = acquire(watched(b, queued), "abort", { signal: controller.signal }).catch((error: unknown) => error);
    });
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

function claimOf(name: string, lease: number): Claim {
  return { name, owner: crypto.randomUUID(), mode: "exclusive", lease };
}

/** A store that tells when its owner stands in the queue. */
function watched(store: Store, queued: () => void): Store {
  return {
    attempt: async (claim, options) => {
      const attempt = await store.attempt(claim, options);
      if (!attempt.granted) queued();
      return attempt;
    },
    renew: (claim) => store.renew(claim),
    release: (claim) => store.release(claim),
    ...(store.wakeup === undefined ? {} : { wakeup: store.wakeup.bind(store) }),
    drift: (lease) => store.drift(lease),
  };
}

/** Waits until the lock can be had, and leaves it free. */
async function freed(store: Store, name: string): Promise<void> {
  await (await acquire(store, name, { wait: SHORT + GRACE })).release();
}

function granted(attempt: Attempt): bigint {
  check(attempt.granted, "the attempt is granted");
  return attempt.fence;
}

function check(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(`expected: ${what}`);
}

async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const started = clock.now();
  while (!await condition()) {
    check(elapsed(started, clock.now()) < GRACE, what);
    await clock.sleep(10);
  }
}
