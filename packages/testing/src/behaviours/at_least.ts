import { acquire, type AcquireOptions, tryAcquire } from "@holdfast/lock";
import { elapsed } from "../clock.ts";
import type { Behaviours, StoreFixture } from "../fixture.ts";
import { check, clock, inTime, limits, LONG_MS, waiting } from "../expect.ts";

/** For how long the locks are kept, in milliseconds: longer than a wake-up takes on a slow machine. */
const AT_LEAST_MS = 600;

/** The behaviours of every store with the option `atLeast`. */
export const atLeast: Behaviours = {
  async "release() with atLeast leaves the lock to its lease, and waiters get it then"(fixture) {
    const { capabilities = [] } = await fixture.connect();
    const kinds: AcquireOptions[] = [{}];
    if (capabilities.includes("shared")) kinds.push({ mode: "shared" });
    if (capabilities.includes("permits")) kinds.push({ permits: 1 });
    if (capabilities.includes("owner")) kinds.push({ owner: "me" });
    const kept = kinds.map((kind, i) => keep(fixture, `${i}`, kind));
    // Each runs to its end, also when another one has failed: none may be left behind.
    for (const outcome of await Promise.allSettled(kept)) if (outcome.status === "rejected") throw outcome.reason;
  },
};

/** Releases a lock at once, while a handle of the same process and a handle of another process wait for it. */
async function keep(fixture: StoreFixture, name: string, kind: AcquireOptions): Promise<void> {
  const [store, rival] = [await fixture.connect(), await fixture.connect()];
  const what = JSON.stringify(kind);
  const began = clock.now();
  const lock = await acquire(store, name, { ...kind, lease: LONG_MS, atLeast: AT_LEAST_MS });
  const next = { permits: kind.permits, lease: LONG_MS, wait: limits.hang };
  const waiters = [];
  for (const each of [store, rival]) {
    const { lock, queued } = waiting(each, name, next);
    // It is awaited below; until then it may fail.
    lock.catch(() => {});
    waiters.push(lock);
    await Promise.race([queued, lock]);
  }
  await lock.release();
  check(!lock.held, `released: ${what}`);
  if (kind.owner !== undefined) await (await tryAcquire(store, name, { owner: kind.owner }))?.release();
  const first = await inTime(`granted after the lease: ${what}`, Promise.race(waiters));
  const after = elapsed(began, clock.now());
  check(first.fence > lock.fence, `the fence rises: ${what}`);
  await Promise.all(waiters.map((waiter) => waiter.then((lock) => lock.release())));
  const least = AT_LEAST_MS - store.drift(AT_LEAST_MS);
  check(after >= least, `kept for ${AT_LEAST_MS} ms: ${what}, granted after ${Math.round(after)} ms`);
}
