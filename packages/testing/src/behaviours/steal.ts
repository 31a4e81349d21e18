import { acquire, isLockLost } from "@holdfast/lock";
import { enqueueInOrder, TRY } from "../claims.ts";
import { check, claimOf, granted, inTime, LONG_MS, until } from "../expect.ts";
import type { Behaviours } from "../fixture.ts";

/** The behaviours of a store that supports steal. */
export const steal: Behaviours = {
  async "attempt() with steal takes the lock from its holder, ahead of the queue"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const [holder, thief] = [claimOf("steal", LONG_MS), claimOf("steal", LONG_MS)];
    const fence = granted(await a.attempt(holder, TRY));
    const [waiter] = await enqueueInOrder(fixture, "steal", ["exclusive"]);
    check(granted(await b.attempt(thief, { enqueue: false, steal: true })) > fence, "the fence rises");
    check(await a.renew(holder) === "lost", "the holder has lost it");
    check(!await a.release(holder), "and has nothing to release");
    check(await b.renew(thief) === "renewed", "the thief holds it");
    await b.release(thief);
    await (await waiter!).release();
  },

  async "acquire() with steal is granted to each caller of one process in their order"(fixture) {
    const store = await fixture.connect();
    const held = await acquire(store, "thieves", { lease: LONG_MS });
    const granted: number[] = [];
    const thieves = await Promise.all(Array.from({ length: 3 }, async (_, i) => {
      const lock = await acquire(store, "thieves", { lease: LONG_MS, steal: true });
      granted.push(i);
      return lock;
    }));
    const locks = [held, ...thieves];
    const lost = await Promise.all(locks.map((lock) => lock.release().then(() => false, isLockLost)));
    check(granted.join() === "0,1,2", `in the order of their calls: ${granted}`);
    check(locks.every(({ fence }, i) => i === 0 || fence > locks[i - 1]!.fence), "the fences rise");
    check(lost.join() === "true,true,true,false", `each has lost the lock to the next one: ${lost}`);
  },

  async "revocation() resolves after a steal from this handle, and from no other"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const [holder, bystander, thief] = [
      claimOf("revoked", LONG_MS),
      claimOf("other", LONG_MS),
      claimOf("revoked", LONG_MS),
    ];
    granted(await a.attempt(holder, TRY));
    granted(await a.attempt(bystander, TRY));
    const over = new AbortController();
    let notified = 0;
    const revocations = [holder, bystander].map((claim) => a.revocation?.(claim, over.signal).then(() => notified++));
    granted(await b.attempt(thief, { enqueue: false, steal: true }));
    await until("the holder is notified", () => Promise.resolve(notified === 1));
    revocations.push(a.revocation?.(holder, over.signal).then(() => notified++));
    await until("also when it asks too late", () => Promise.resolve(notified === 2));
    over.abort("over");
    await inTime("revocation() resolves when its signal aborts", Promise.all(revocations));
    await a.release(bystander);
    await b.release(thief);
  },
};
