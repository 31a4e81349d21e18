// Deno only: it starts servers.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { StoreError } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { Mutex, RedlockMutex, Semaphore } from "@holdfast/compat/redis-semaphore";
import Redlock, { ExecutionError, type Lock } from "@holdfast/compat/redlock";
import type { Redis } from "ioredis";
import { Mutex as OldMutex, RedlockMutex as OldRedlockMutex, Semaphore as OldSemaphore } from "redis-semaphore";
import Redlock4 from "redlock4";
import Redlock5 from "redlock5";
import { place } from "./place.ts";

const LONG = 600_000;

/** One attempt: a loaded machine may not answer in a short time. */
const BRIEF = { lockTimeout: LONG, acquireAttemptsLimit: 1 };

/** One that a loaded machine does not end. */
const PATIENT = { lockTimeout: LONG, acquireTimeout: 60_000 };

/** A lock of the original. */
interface OldLock {
  release?(): Promise<unknown>;
  unlock?(): Promise<unknown>;
}

/** The original, in both versions. */
const ORIGINALS: Readonly<Record<string, (clients: Redis[]) => (names: string[]) => Promise<OldLock>>> = {
  "redlock 4": (clients) => {
    const old = new Redlock4(clients, { retryCount: 1, retryDelay: 10 });
    return (names) => Promise.resolve(old.lock(names, LONG) as unknown as OldLock);
  },
  "redlock 5": (clients) => {
    const old = new Redlock5(clients as never, { retryCount: 0 });
    return (names) => old.acquire(names, LONG);
  },
};

for (const [version, open] of Object.entries(ORIGINALS)) {
  for (const count of [1, 3]) {
    Deno.test(`Redlock and ${version} exclude each other on servers: ${count}`, async () => {
      await using at = await place(count);
      const old = open(at.connect());
      const [locks, hasty] = [new Redlock(at.clients), new Redlock(at.clients, { retryCount: 0 })];
      for (const names of [["a"], ["a", "b"]]) {
        const mine: Lock = await locks.acquire(names, LONG);
        await assertRejects(() => old(["a"]), Error);
        await mine.release();
        const theirs = await old(names);
        await assertRejects(() => hasty.acquire(["a"], LONG), ExecutionError);
        await (theirs.release?.() ?? theirs.unlock?.());
      }
      await using last = await locks.acquire(["a"], LONG);
      assert(!last.signal.aborted);
    });
  }
}

Deno.test("query() lists a holder of redlock 5 without meta, and one of the drop-in with it", async () => {
  await using at = await place();
  const old = await new Redlock5(at.connect() as never).acquire(["a"], LONG);
  await using _mine = await new Redlock(at.clients).acquire(["b"], LONG);
  const { held } = await redis(at.clients[0]!, { prefix: "" }).query({ match: "*" });
  const known = held.map(({ name, meta }) => [name, meta?.["pid"] !== undefined]);
  await old.release();
  assertEquals(known.sort(), [["a", false], ["b", true]]);
});

Deno.test("Mutex and that of redis-semaphore exclude each other", async () => {
  await using at = await place();
  const [theirs] = at.connect() as [Redis];
  await excludes((options) => new Mutex(at.clients[0]!, "a", options), (options) => new OldMutex(theirs, "a", options));
});

Deno.test("RedlockMutex and that of redis-semaphore exclude each other", async () => {
  await using at = await place(3);
  const theirs = at.connect();
  await excludes(
    (options) => new RedlockMutex(at.clients, "a", options),
    (options) => new OldRedlockMutex(theirs, "a", options),
  );
});

Deno.test("Semaphore and that of redis-semaphore reject while the other is held", async () => {
  await using at = await place();
  const [theirs] = at.connect() as [Redis];
  const [mine, old] = [new Semaphore(at.clients[0]!, "a", 2, PATIENT), new OldSemaphore(theirs, "a", 2, PATIENT)];
  await mine.acquire();
  await assertRejects(() => old.tryAcquire(), Error, "WRONGTYPE");
  await mine.release();
  await old.acquire();
  await assertRejects(() => mine.tryAcquire(), StoreError);
  await old.release();
  await mine.acquire();
  await mine.release();
});

/** Checks that mutexes of one name exclude each other, which are made with these options. */
async function excludes(
  mine: (options: typeof BRIEF | typeof PATIENT) => Mutex | RedlockMutex,
  old: (options: typeof BRIEF | typeof PATIENT) => OldMutex | OldRedlockMutex,
): Promise<void> {
  for (const [first, second] of [[mine, old], [old, mine], [mine, old]]) {
    const holder = first!(PATIENT);
    await holder.acquire();
    assert(!await second!(BRIEF).tryAcquire());
    await holder.release();
  }
}
