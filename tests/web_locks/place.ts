import { assertEquals, assertInstanceOf } from "@std/assert";
import type { LockInfo, LockManager, LockOptions, WebLock } from "@holdfast/lock/web-locks";
import { until } from "../support/until.ts";

/** What a lock manager must have, whether it is the platform's or ours. */
export type Locks = Pick<LockManager, "request" | "query">;

/** Where the locks of one test are kept. */
export interface Place {
  /** Another lock manager of this place, or the same one where there is only one. */
  connect(): Locks;
  /** A name that no other test uses. */
  readonly name: string;
}

/** Tests by name: each shows one step of an algorithm of the specification. */
export type Steps = Record<string, (place: Place) => Promise<void> | void>;

/** A lock that is held until the test releases it, or a request that was called back with `null`. */
export interface Held {
  /** What the callback was given. */
  readonly lock: WebLock | null;
  /** What `request()` gave. */
  readonly done: Promise<unknown>;
  /** Fulfils the promise of the callback. */
  release(value?: unknown): void;
  /** Rejects it. */
  fail(error: unknown): void;
  /** Fulfils it once the callback was called, and waits for the end of the request. */
  end(): Promise<void>;
}

/** A request, and how it goes on. */
export interface Asked extends Omit<Held, "lock"> {
  /** Returns whether the callback has been called. */
  called(): boolean;
  /** When it is. */
  readonly granted: Promise<WebLock | null>;
}

/** Release what the requests of the present test hold, or will be granted. */
export const releases: (() => void)[] = [];

/** Requests a lock, without waiting for it. */
export function ask(locks: Locks, name: string, options: LockOptions = {}): Asked {
  const { promise: granted, resolve: grant, reject: refuse } = Promise.withResolvers<WebLock | null>();
  const { promise: held, resolve: release, reject: fail } = Promise.withResolvers<unknown>();
  releases.push(() => release(undefined));
  let called = false;
  const done = locks.request(name, options, (lock) => {
    called = true;
    grant(lock);
    return held;
  });
  // Most tests look at one of these alone.
  done.catch(refuse);
  granted.catch(() => {});
  const end = async () => {
    await granted;
    release(undefined);
    await done;
  };
  return { called: () => called, granted, done, release, fail, end };
}

/** Requests a lock, and waits until the callback is called. */
export async function hold(locks: Locks, name: string, options: LockOptions = {}): Promise<Held> {
  const asked = ask(locks, name, options);
  return { ...asked, lock: await asked.granted };
}

/** Requests a lock, and waits until the request stands in the queue. */
export async function wait(locks: Locks, name: string, options: LockOptions = {}): Promise<Asked> {
  const before = (await pending(locks, name)).length;
  const asked = ask(locks, name, options);
  await queued(locks, name, before + 1);
  return asked;
}

/** Requests a lock with another lock manager, and waits until a further one finds the request in the queue. */
export async function waitElsewhere(connect: () => Locks, name: string, options: LockOptions = {}): Promise<Asked> {
  const others = connect();
  const before = (await pending(others, name)).length;
  const asked = ask(connect(), name, options);
  // The lock manager itself lists it before it is there.
  await queued(others, name, before + 1);
  return asked;
}

/** Waits until so many requests stand in the queue. */
export async function queued(locks: Locks, name: string, count: number): Promise<void> {
  await until(async () => (await pending(locks, name)).length === count, `${count} requests are pending`);
}

/** Returns the requests that wait for a lock. */
export async function pending(locks: Locks, name: string): Promise<LockInfo[]> {
  return (await locks.query()).pending.filter((info) => info.name === name);
}

/** Returns the locks that are held. */
export async function holders(locks: Locks, name: string): Promise<LockInfo[]> {
  return (await locks.query()).held.filter((info) => info.name === name);
}

/** Fails unless the promise rejects with a `DOMException` of that name. */
export async function assertDomError(promise: Promise<unknown>, name: string): Promise<void> {
  const error = await failure(promise);
  assertInstanceOf(error, DOMException);
  assertEquals(error.name, name);
}

/** Returns what a promise rejects with. */
export async function failure(promise: Promise<unknown>): Promise<unknown> {
  let value;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`expected a rejection: got ${value}`);
}
