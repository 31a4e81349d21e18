import { acquire, type Claim, isLockLost } from "@holdfast/lock";
import { enqueueInOrder, owned, permit, QUEUE, share, TRY } from "../claims.ts";
import { busy, check, claimOf, granted, inTime, LONG_MS, until } from "../expect.ts";
import type { Behaviours } from "../fixture.ts";

/** The behaviours of a store that supports steal. */
export const steal: Behaviours = {
  async "attempt() with steal takes the lock from all holders, ahead of the queue"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const { capabilities = [] } = a;
    const kinds: Claim[][] = [[claimOf("exclusive", LONG_MS)]];
    if (capabilities.includes("shared")) kinds.push([share("shared"), share("shared")]);
    if (capabilities.includes("permits")) kinds.push([permit("permits", 2), permit("permits", 2)]);
    if (capabilities.includes("owner")) kinds.push([owned("owner", "me"), owned("owner", "me")]);
    for (const holders of kinds) {
      const [{ name, permits }] = holders as [Claim];
      const thief = claimOf(name, LONG_MS);
      let last = 0n;
      for (const holder of holders) last = granted(await a.attempt(holder, TRY));
      const [waiter] = await enqueueInOrder(fixture, name, [permits ?? "exclusive"]);
      const fence = granted(await b.attempt(thief, { enqueue: false, steal: true }));
      check(fence > last, "the fence rises");
      check(granted(await b.attempt(thief, { enqueue: false, steal: true })) >= fence, "its answer may have been lost");
      for (const holder of holders) {
        check(await a.renew(holder) === "lost", "the holder has lost it");
        check(!await a.release(holder), "and has nothing to release");
      }
      check(await b.renew(thief) === "renewed", "the thief holds it");
      check(!(await a.attempt({ ...claimOf(name, LONG_MS), permits }, TRY)).granted, "and nobody else");
      await b.release(thief);
      await (await waiter!).release();
    }
  },

  async "attempt() with steal of a handle that waits is granted the lock"(fixture) {
    const store = await fixture.connect();
    const [holder, thief] = [claimOf("impatient", LONG_MS), claimOf("impatient", LONG_MS)];
    granted(await store.attempt(holder, TRY));
    busy(await store.attempt(thief, QUEUE));
    granted(await store.attempt(thief, { enqueue: true, steal: true }));
    check(await store.renew(holder) === "lost", "the holder has lost it");
    check(await store.release(thief), "the thief held it");
  },

  async "attempt() with steal of an owner that holds the lock takes nothing from it"(fixture) {
    const store = await fixture.connect();
    if (!store.capabilities?.includes("owner")) return;
    const [first, second] = [owned("own", "me"), owned("own", "me")];
    const fence = granted(await store.attempt(first, TRY));
    check(granted(await store.attempt(second, { enqueue: true, steal: true })) === fence, "it is the same hold");
    for (const claim of [first, second]) check(await store.release(claim), "each handle releases");
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
