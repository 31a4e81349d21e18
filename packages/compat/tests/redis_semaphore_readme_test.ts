// Deno only: it starts servers.
import { Mutex, RedlockMutex, Semaphore } from "@holdfast/compat/redis-semaphore";
import { Mutex as OldMutex, RedlockMutex as OldRedlockMutex, Semaphore as OldSemaphore } from "redis-semaphore";
import { HANG_MS, until } from "../../../tests/support/until.ts";
import { failureOf, type FarPlace, farPlace, playAll, TRIPS } from "./far_place.ts";

/** Longer than any test. */
const LONG = 600_000;

/** What a machine does not end, however slow it is. */
const PATIENT = { lockTimeout: LONG, acquireTimeout: LONG };

/** What both libraries have. */
interface SharedLock {
  readonly isAcquired: boolean;
  acquire(signal?: AbortSignal): Promise<void>;
  tryAcquire(signal?: AbortSignal): Promise<boolean>;
  release(): Promise<void>;
  stopRefresh(): unknown;
}

/** Makes a lock of one library. */
type Make = (at: FarPlace, name: string, options?: object) => SharedLock;

type Statement = (make: Make, name: string, at: FarPlace) => Promise<unknown>;

/** Holds a lock, as another process does. */
async function held(make: Make, at: FarPlace, name: string): Promise<SharedLock> {
  const lock = make(at, name, PATIENT);
  await lock.acquire();
  return lock;
}

const STATEMENTS: Readonly<Record<string, Statement>> = {
  "acquire() and release() hold a lock": async (make, name, at) => {
    const lock = make(at, name, PATIENT);
    const states = [lock.isAcquired];
    await lock.acquire();
    states.push(lock.isAcquired);
    await lock.release();
    return [...states, lock.isAcquired];
  },
  "its key has a prefix, and is refreshed until release()": async (make, name, at) => {
    const lock = make(at, name, { ...PATIENT, refreshInterval: 1_000 });
    await lock.acquire();
    const keys = [`mutex:${name}`, `semaphore:${name}`];
    const held = await Promise.all(keys.map((key) => at.held(key)));
    let before = Infinity;
    const rises = async () => {
      const left = Math.max(...await Promise.all(keys.map((key) => at.near[0]!.pttl(key))));
      const higher = left > before;
      before = left;
      return higher;
    };
    await until(rises, "it is refreshed", HANG_MS);
    await lock.release();
    return [...held, lock.isAcquired];
  },
  "tryAcquire() with acquireAttemptsLimit: 1 is one attempt, which is awaited": async (make, name, at) => {
    const options = { lockTimeout: LONG, acquireAttemptsLimit: 1, acquireTimeout: 10 };
    const [first, second] = [make(at, name, options), make(at, name, options)];
    const acquired = [await first.tryAcquire(), await second.tryAcquire()];
    await second.release();
    await first.release();
    return [...acquired, second.isAcquired];
  },
  "a connection that is being made, and a short acquireTimeout, do not matter": async (make, name, at) => {
    const lock = make(at, name, { lockTimeout: LONG, acquireTimeout: 50 });
    const acquired = await lock.tryAcquire();
    await lock.release();
    return [acquired];
  },
  "without time, or without attempts, none is made": async (make, name, at) => {
    const locks = [{ acquireTimeout: 0 }, { acquireAttemptsLimit: 0 }].map((each) => make(at, name, each));
    return await Promise.all(locks.map((lock) => lock.tryAcquire()));
  },
  "acquire() of a busy lock rejects after acquireTimeout, and after acquireAttemptsLimit": async (make, name, at) => {
    const holder = await held(make, at, name);
    const limits = [{ acquireTimeout: 50 }, { acquireAttemptsLimit: 3 }, { acquireTimeout: 0 }];
    const failures = await Promise.all(limits.map(async (limit) => {
      const lock = make(at, name, { ...PATIENT, ...limit });
      return [(await failureOf(lock.acquire())) !== "none", await lock.tryAcquire(), lock.isAcquired];
    }));
    await holder.release();
    return failures;
  },
  "a busy lock is waited for until its release": async (make, name, at) => {
    const holder = await held(make, at, name);
    const second = make(at, name, PATIENT);
    const acquiring = second.acquire();
    await holder.release();
    await acquiring;
    const acquired = second.isAcquired;
    await second.release();
    return [acquired];
  },
  "a signal ends the wait": async (make, name, at) => {
    const holder = await held(make, at, name);
    const controller = new AbortController();
    const acquiring = make(at, name, PATIENT).acquire(controller.signal);
    controller.abort(new RangeError("enough"));
    const failure = await failureOf(acquiring);
    await holder.release();
    return [failure];
  },
  "a lock that is lost is not acquired any longer, which its callback is told, and release() is safe": async (
    make,
    name,
    at,
  ) => {
    const lost: boolean[] = [];
    const onLockLost = (error: Error) => void lost.push(error instanceof Error);
    const lock = make(at, name, { ...PATIENT, lockTimeout: 3_000, refreshInterval: 500, onLockLost });
    await lock.acquire();
    for (const key of [`mutex:${name}`, `semaphore:${name}`]) await at.remove(key);
    await until(() => lost.length > 0, "it is noticed", HANG_MS);
    const acquired = lock.isAcquired;
    await lock.release();
    return [acquired, ...lost];
  },
  "after stopRefresh() the lock ends with its lockTimeout": async (make, name, at) => {
    const lock = make(at, name, { ...PATIENT, lockTimeout: 2_000 });
    await lock.acquire();
    await lock.stopRefresh();
    const second = await held(make, at, name);
    await second.release();
    return ["acquired"];
  },
  "without refreshInterval the lock ends with its lockTimeout": async (make, name, at) => {
    const options = { ...PATIENT, lockTimeout: 2_000, refreshInterval: 0, onLockLost: () => {} };
    await make(at, name, options).acquire();
    const second = await held(make, at, name);
    await second.release();
    return ["acquired"];
  },
};

const PERMITS: Readonly<Record<string, Statement>> = {
  "no more than the limit hold a semaphore": async (make, name, at) => {
    const locks = Array.from({ length: 3 }, () => make(at, name, { lockTimeout: LONG, acquireAttemptsLimit: 1 }));
    const acquired = [];
    for (const lock of locks) acquired.push(await lock.tryAcquire());
    await locks[0]!.release();
    acquired.push(await locks[2]!.tryAcquire());
    for (const lock of locks) await lock.release();
    return acquired;
  },
};

/** Makes locks over other connections each time. */
const KINDS: Readonly<Record<string, readonly [servers: number, limit: number, original: Make, dropIn: Make]>> = {
  Mutex: [
    1,
    1,
    (at, name, options) => new OldMutex(at.connect()[0]!, name, options),
    (at, name, options) => new Mutex(at.connect()[0]!, name, options),
  ],
  RedlockMutex: [
    3,
    1,
    (at, name, options) => new OldRedlockMutex(at.connect(), name, options),
    (at, name, options) => new RedlockMutex(at.connect(), name, options),
  ],
  "Semaphore of one": [
    1,
    1,
    (at, name, options) => new OldSemaphore(at.connect()[0]!, name, 1, options),
    (at, name, options) => new Semaphore(at.connect()[0]!, name, 1, options),
  ],
  "Semaphore of two": [
    1,
    2,
    (at, name, options) => new OldSemaphore(at.connect()[0]!, name, 2, options),
    (at, name, options) => new Semaphore(at.connect()[0]!, name, 2, options),
  ],
};

for (const [kind, [servers, limit, original, dropIn]] of Object.entries(KINDS)) {
  for (const trip of TRIPS) {
    Deno.test(`${kind} keeps what redis-semaphore says, ${trip} ms away`, async () => {
      await using at = await farPlace(servers, trip);
      await playAll(limit === 1 ? STATEMENTS : PERMITS, [original, dropIn], at);
    });
  }
}
