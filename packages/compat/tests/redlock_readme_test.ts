// Deno only: it starts servers.
import Redlock from "@holdfast/compat/redlock";
import Redlock4 from "redlock4";
import Redlock5 from "redlock5";
import { HANG_MS, until } from "../../../tests/support/until.ts";
import { failureOf, type FarPlace, farPlace, playAll, TRIPS } from "./far_place.ts";

/** Longer than any test. */
const LONG = 600_000;

/** So many that no machine is too slow for them. */
const MANY = { retryCount: 100_000, retryDelay: 20, retryJitter: 0 };

interface Stats {
  readonly membershipSize: number;
  readonly quorumSize: number;
  readonly votesFor: Set<unknown>;
  readonly votesAgainst: Map<unknown, Error>;
}

/** A lock of version 5. */
interface Lock5 {
  readonly expiration: number;
  readonly attempts: readonly Promise<Stats>[];
  extend(duration: number): Promise<Lock5>;
  release(): Promise<unknown>;
}

/** A lock of version 4. */
interface Lock4 {
  readonly expiration: number;
  extend(ttl: number, callback?: (error: unknown, lock?: Lock4) => void): PromiseLike<Lock4>;
  unlock(callback?: (error: unknown) => void): PromiseLike<unknown>;
}

/** What both libraries have, in version 5. */
interface Locks5 {
  acquire(names: string[], duration: number, settings?: object): Promise<Lock5>;
  using<T>(
    names: string[],
    duration: number,
    settings: object,
    routine: (signal: AbortSignal & { error?: Error }) => Promise<T>,
  ): Promise<T>;
  on(event: "error", listener: (error: Error) => void): unknown;
}

/** What both libraries have, in version 4. */
interface Locks4 {
  quit(): PromiseLike<unknown[]>;
  unlock(lock: Lock4, callback?: (error: unknown) => void): PromiseLike<unknown>;
  extend(lock: Lock4, ttl: number, callback?: (error: unknown, lock?: Lock4) => void): PromiseLike<Lock4>;
  on(event: "clientError", listener: (error: Error) => void): unknown;
  lock(name: string | string[], ttl: number, callback?: (error: unknown, lock?: Lock4) => void): PromiseLike<Lock4>;
}

type Open<Locks> = (at: FarPlace, settings?: object) => Locks;

const drift = (lock: { readonly expiration: number }) => lock.expiration - Date.now();

const STATEMENTS_5: Readonly<Record<string, (open: Open<Locks5>, name: string, at: FarPlace) => Promise<unknown>>> = {
  "using() runs a routine with its lock, and resolves to its value": async (open, name, at) => {
    const settings = { automaticExtensionThreshold: 500 };
    const value = await open(at).using([name, `${name}b`], LONG, settings, async (signal) => {
      return [signal.aborted, signal.error, await at.held(name, `${name}b`)];
    });
    await at.free(name, `${name}b`);
    return value;
  },
  "using() extends the lock while the routine runs": async (open, name, at) => {
    const settings = { automaticExtensionThreshold: 8_000 };
    return await open(at).using([name], 12_000, settings, async (signal) => {
      let before = Infinity;
      const rises = async () => {
        const left = await at.near[0]!.pttl(name);
        const higher = left > before;
        before = left;
        return higher;
      };
      await until(rises, "it is extended", HANG_MS);
      return [signal.aborted];
    });
  },
  "using() aborts its signal with an error when the extension fails": async (open, name, at) => {
    // A server may take longer to answer than so short a lease allows.
    const settings = { ...MANY, automaticExtensionThreshold: 3_000 };
    const seen: unknown[] = [];
    const using = open(at).using([name], 4_000, settings, async (signal) => {
      await at.remove(name);
      await until(() => signal.aborted, "it is noticed", HANG_MS);
      seen.push(signal.error instanceof Error);
      throw signal.error;
    });
    return [await failureOf(using) !== "none", ...seen];
  },
  "acquire(), extend() and release() hold a lock": async (open, name, at) => {
    let lock = await open(at).acquire([name], LONG);
    const held = await at.held(name);
    lock = await lock.extend(3 * LONG);
    const later = drift(lock) > 2 * LONG;
    await lock.release();
    await at.free(name);
    return [held, later, lock.expiration];
  },
  "a duration is a whole number": async (open, name, at) => {
    return [await failureOf(open(at).acquire([name], 1.5)) !== "none"];
  },
  "a connection that is being made, and few short retries, do not matter": async (open, name, at) => {
    const lock = await open(at, { retryCount: 3, retryDelay: 50 }).acquire([name], LONG);
    const attempts = lock.attempts.length;
    await lock.release();
    return [attempts];
  },
  "without retries a lock that is free is granted, and one that is held is not": async (open, name, at) => {
    const locks = open(at, { retryCount: 0 });
    const lock = await locks.acquire([name], LONG);
    const busy = await failureOf(locks.acquire([name], LONG));
    await lock.release();
    return [busy];
  },
  "an error has the votes of each attempt": async (open, name, at) => {
    const locks = open(at);
    const lock = await locks.acquire([name], LONG);
    // A server that has not voted for this lock would vote for the next one.
    await at.everywhere(name);
    const error: { attempts: Promise<Stats>[] } = await locks.acquire([name], LONG, { retryCount: 2, retryDelay: 20 })
      .then(() => {
        throw new Error("acquired");
      }, (error) => error);
    const stats = await Promise.all(error.attempts);
    await lock.release();
    return stats.map(({ membershipSize, quorumSize, votesFor, votesAgainst }) => [
      ...[membershipSize, quorumSize, votesFor.size],
      ...[...votesAgainst.values()].map(({ name }) => name),
    ]);
  },
  "a lock has the votes of each attempt": async (open, name, at) => {
    const lock = await open(at).acquire([name], LONG);
    const stats = await Promise.all(lock.attempts);
    await lock.release();
    return stats.map(({ votesAgainst }) => votesAgainst.size);
  },
  "a lock that is released goes to a caller that retries": async (open, name, at) => {
    const locks = open(at, MANY);
    const lock = await locks.acquire([name], LONG);
    const second = locks.acquire([name], LONG);
    await lock.release();
    await (await second).release();
    await at.free(name);
    return ["granted"];
  },
  "with retryCount: -1 retries never end": async (open, name, at) => {
    const locks = open(at, { ...MANY, retryCount: -1 });
    const lock = await locks.acquire([name], LONG);
    const second = locks.acquire([name], LONG);
    await lock.release();
    await (await second).release();
    return ["granted"];
  },
  "of several resources none may be held": async (open, name, at) => {
    const locks = open(at, { retryCount: 0 });
    const lock = await locks.acquire([name, `${name}b`], LONG);
    const busy = await failureOf(locks.acquire([`${name}b`, `${name}c`], LONG));
    await at.free(`${name}c`);
    await lock.release();
    return [busy];
  },
  "a minority of servers that refuse does not matter": async (open, name, at) => {
    const minority = at.near.slice(0, Math.floor((at.near.length - 1) / 2));
    for (const client of minority) await client.set(name, "other");
    const lock = await open(at, MANY).acquire([name], LONG);
    await lock.release();
    return await Promise.all(minority.map((client) => client.getdel(name)));
  },
  "a refusal is an event": async (open, name, at) => {
    const locks = open(at, { retryCount: 0 });
    const names = new Set<string>();
    const lock = await locks.acquire([name], LONG);
    locks.on("error", (error) => void names.add(error.name));
    await failureOf(locks.acquire([name], LONG));
    await lock.release();
    return [...names];
  },
};

const STATEMENTS_4: Readonly<Record<string, (open: Open<Locks4>, name: string, at: FarPlace) => Promise<unknown>>> = {
  "lock(), extend() and unlock() return promises": async (open, name, at) => {
    const lock = await open(at).lock(name, LONG);
    const extended = await lock.extend(3 * LONG);
    const later = drift(extended) > 2 * LONG;
    await extended.unlock();
    await at.free(name);
    return [extended === lock, later, lock.expiration];
  },
  "lock(), extend() and unlock() call back": async (open, name, at) => {
    const lock = await new Promise<Lock4>((resolve, reject) => {
      open(at).lock(name, LONG, (error, lock) => error ? reject(error) : resolve(lock!));
    });
    const [error, extended] = await new Promise<unknown[]>((resolve) => {
      lock.extend(3 * LONG, (error, extended) => resolve([error, extended === lock]));
    });
    const unlocked = await new Promise((resolve) => lock.unlock((error) => resolve(error ?? null)));
    return [error, extended, unlocked];
  },
  "extend() and unlock() of Redlock take a lock": async (open, name, at) => {
    const locks = open(at);
    const lock = await locks.lock(name, LONG);
    const extended = await locks.extend(lock, 3 * LONG);
    const later = drift(extended) > 2 * LONG;
    const error = await new Promise((resolve) => locks.unlock(extended, (error) => resolve(error ?? null)));
    await at.free(name);
    return [extended === lock, later, error];
  },
  "quit() ends each client": async (open, name, at) => {
    const locks = open(at);
    await (await locks.lock(name, LONG)).unlock();
    // A server may have to be told the script again, which nobody does over a connection that has ended.
    await at.free(name);
    return await locks.quit();
  },
  "a server that fails is an event": async (open, name, at) => {
    for (const client of at.near) await client.sadd(name, "of another type");
    const locks = open(at, { retryCount: 0 });
    const events: boolean[] = [];
    locks.on("clientError", (error) => void events.push(error instanceof Error));
    const failed = await failureOf(Promise.resolve(locks.lock(name, LONG))) !== "none";
    await at.remove(name);
    return [failed, events[0]];
  },
  "a connection that is being made, and few short retries, do not matter": async (open, name, at) => {
    await (await open(at, { retryCount: 3, retryDelay: 50 }).lock(name, LONG)).unlock();
    return ["granted"];
  },
  "with retryCount: 0 a lock that is held is refused": async (open, name, at) => {
    const locks = open(at, { retryCount: 0 });
    const lock = await locks.lock(name, LONG);
    const busy = await failureOf(Promise.resolve(locks.lock(name, LONG))) !== "none";
    await lock.unlock();
    return [busy];
  },
  "with retryCount: -1 retries never end": async (open, name, at) => {
    const locks = open(at, { ...MANY, retryCount: -1 });
    const lock = await locks.lock(name, LONG);
    const second = locks.lock(name, LONG);
    await lock.unlock();
    await (await second).unlock();
    return ["granted"];
  },
  "several resources are locked together, or none": async (open, name, at) => {
    const locks = open(at, { retryCount: 0 });
    const lock = await locks.lock([name, `${name}b`], LONG);
    const busy = await failureOf(Promise.resolve(locks.lock([`${name}b`, `${name}c`], LONG))) !== "none";
    await at.free(`${name}c`);
    await (await lock.extend(LONG)).unlock();
    await at.free(name, `${name}b`);
    return [busy];
  },
  "a lock with a resource that is missing can be neither extended nor unlocked": async (open, name, at) => {
    const lock = await open(at, { retryCount: 0 }).lock([name, `${name}b`], LONG);
    await at.everywhere(name, `${name}b`);
    await at.remove(`${name}b`);
    const extended = await failureOf(Promise.resolve(lock.extend(LONG))) !== "none";
    const unlocked = await failureOf(Promise.resolve(lock.unlock())) !== "none";
    await at.free(name);
    return [extended, unlocked];
  },
};

const OPEN_5: readonly [Open<Locks5>, Open<Locks5>] = [
  (at, settings) => new Redlock5(at.connect() as never, settings) as unknown as Locks5,
  (at, settings) => new Redlock(at.connect(), settings) as unknown as Locks5,
];

const OPEN_4: readonly [Open<Locks4>, Open<Locks4>] = [
  (at, settings) => new Redlock4(at.connect(), settings) as unknown as Locks4,
  (at, settings) => new Redlock(at.connect(), settings) as unknown as Locks4,
];

for (const count of [1, 3]) {
  for (const trip of TRIPS) {
    const where = `on servers: ${count}, ${trip} ms away`;
    Deno.test({
      name: `Redlock keeps what redlock 5 says, ${where}`,
      fn: async () => {
        await using at = await farPlace(count, trip);
        await playAll(STATEMENTS_5, OPEN_5, at);
      },
    });

    Deno.test({
      name: `Redlock keeps what redlock 4 says, ${where}`,
      fn: async () => {
        await using at = await farPlace(count, trip);
        await playAll(STATEMENTS_4, OPEN_4, at);
      },
    });
  }
}
