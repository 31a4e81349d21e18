import {
  acquire,
  type AcquireOptions,
  type Attempt,
  type Claim,
  type Granted,
  type Lock,
  type Store,
} from "@holdfast/lock";
import { elapsed, type Instant, SystemClock } from "./clock.ts";

/** The clock of the behaviours. */
export const clock = new SystemClock();

/** A lease that does not end during a behaviour, also of one that waits until its limit, in milliseconds. */
export const LONG_MS = 600_000;

/** A lease that is short enough to wait for, in milliseconds. */
export const SHORT_MS = 200;

/** How long a behaviour waits for an event that must come, in milliseconds: only a store that hangs takes as long. */
export const limits = { hang: 60_000 };

/** For how long after its last attempt a store must not take a waiter for dead, in milliseconds. */
export const ALIVE_MS = 250;

/** The time of a release, in milliseconds, below which all servers that must know of it have answered. */
const PROMPT_MS = 10;

/** How long a scenario is tried again because the machine was too slow, in milliseconds. */
const JUDGE_LIMIT_MS = 60_000;

/** When a call was made and when it was answered: its effect lies in between. */
export interface Span {
  readonly sent: Instant;
  readonly answered: Instant;
}

/** A call that was answered. */
export interface TimedCall<T> extends Span {
  readonly answer: T;
}

/** Makes a call, and records its times. */
export async function timed<T>(call: () => Promise<T>): Promise<TimedCall<T>> {
  const sent = clock.now();
  const answer = await call();
  return { sent, answered: clock.now(), answer };
}

/** Returns how long the slowest call took: a store that learns the time from a server knows it no better. */
export function slowestOf(calls: readonly Span[]): number {
  return Math.max(...calls.map(({ sent, answered }) => elapsed(sent, answered)));
}

/** Returns an exclusive claim of a fresh owner. */
export function claimOf(name: string, lease: number): Claim {
  return { name, owner: crypto.randomUUID(), mode: "exclusive", lease };
}

/** Acquires a lock; `queued` resolves once the handle is in the queue. */
export function waiting(
  store: Store,
  name: string,
  options: AcquireOptions,
): { readonly lock: Promise<Lock>; readonly queued: Promise<void> } {
  let resolveQueued = () => {};
  const queued = new Promise<void>((resolve) => resolveQueued = resolve);
  return { lock: acquire(watched(store, resolveQueued), name, options), queued };
}

/** Returns a store that calls `queued` when an attempt was busy. */
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
    ...(store.forget === undefined ? {} : { forget: store.forget.bind(store) }),
    drift: (lease) => store.drift(lease),
    capabilities: store.capabilities,
    observer: store.observer,
  };
}

/** Resolves when the lock has become free. */
export async function freed(store: Store, name: string): Promise<void> {
  await (await acquire(store, name, { wait: SHORT_MS + limits.hang })).release();
}

/** Checks that an attempt was granted, and returns the fence. */
export function granted(attempt: Attempt): bigint {
  return grantOf(attempt).fence;
}

/** Checks that an attempt was granted, and returns it. */
export function grantOf(attempt: Attempt): Granted {
  check(attempt.granted, "the attempt is granted");
  return attempt;
}

/** Checks that an attempt found the lock busy. */
export function busy(attempt: Attempt): void {
  check(!attempt.granted && "retryAfter" in attempt, "the attempt finds the lock busy");
  check(attempt.retryAfter > 0 && attempt.retryAfter < Infinity, `it says when to ask again: ${attempt.retryAfter}`);
}

/** Throws unless a condition holds. */
export function check(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(`expected: ${what}`);
}

/** Resolves when a condition holds; rejects if it never does. */
export async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const started = clock.now();
  while (!await condition()) {
    check(elapsed(started, clock.now()) < limits.hang, what);
    await clock.sleep(10);
  }
}

/**
 * Checks that a released lock is granted at once to another handle. A store on several servers may resolve the release
 * before all have answered; then the check is repeated.
 */
export async function checkFreed(holder: Store, claim: Claim, other: Store, next: Claim): Promise<void> {
  await judge(async (_, tries) => {
    const isGranted = async () => (await holder.attempt(claim, { enqueue: false })).granted;
    if (tries > 1) await until(`granted again: ${JSON.stringify(claim.name)}`, isGranted);
    const began = clock.now();
    check(await holder.release(claim), `released: ${JSON.stringify(claim.name)}`);
    const { granted } = await other.attempt(next, { enqueue: false });
    checkInTime(granted, `granted after its release: ${JSON.stringify(claim.name)}`, began, PROMPT_MS);
  });
}

/** Resolves as a call does; rejects if it never settles. */
export async function inTime<T>(what: string, call: Promise<T>): Promise<T> {
  const over = new AbortController();
  const late = clock.sleep(limits.hang, over.signal).then(() => check(over.signal.aborted, what));
  try {
    return await Promise.race([call, late.then(() => call)]);
  } finally {
    over.abort();
  }
}

/** The error of a scenario that proves nothing, because the machine was too slow. */
class TooSlow extends Error {}

/** Checks a condition that a correct store meets for `ms` milliseconds after `since`. A later check proves nothing. */
export function checkInTime(condition: boolean, what: string, since: Instant, ms = ALIVE_MS): asserts condition {
  if (!condition && elapsed(since, clock.now()) >= ms) throw new TooSlow(`expected, on a faster machine: ${what}`);
  check(condition, what);
}

/** Whether an engine had no answer within a part of the lease: the request may have been executed. */
export function isUnanswered(error: unknown): error is Error {
  return error instanceof Error && error.message.startsWith("no answer to a ");
}

/** Runs a scenario, and runs it again with another name when the machine was too slow for it. */
export async function judge(scenario: (name: string, tries: number) => Promise<void>): Promise<void> {
  const started = clock.now();
  for (let tries = 1;; tries++) {
    try {
      return await scenario(`try ${tries}`, tries);
    } catch (error) {
      const slow = error instanceof TooSlow || isUnanswered(error);
      if (!slow || elapsed(started, clock.now()) >= JUDGE_LIMIT_MS) throw error;
    }
  }
}

/** Checks the order in which waiters were granted a lock. With a turn of `ALIVE_MS` or longer it proves nothing. */
export function checkServed(served: readonly number[], turns: readonly Span[], what: string): void {
  if (served.every((waiter, i) => waiter === i)) return;
  if (slowestOf(turns) >= ALIVE_MS) throw new TooSlow(`expected, on a faster machine: ${what}: ${served}`);
  check(false, `${what}: ${served}`);
}

/** Throws so that the scenario is tried again. */
export function tooSlow(): never {
  throw new TooSlow("expected: a machine that is fast enough to judge the store");
}
