import { acquire, LockError, type Store } from "@holdfast/lock";
import { reason } from "@holdfast/lock/authors";
import { SystemClock } from "../time/clock.ts";
import { within } from "../time/within.ts";
import { error, type Finding, ok } from "./finding.ts";

const CLOCK = new SystemClock();

/** How long each step may take, in milliseconds. */
const LIMIT_MS = 3_000;

export const LEASE_MS = 10_000;

/** The pause between two looks at the queue, in milliseconds. */
const LOOK_MS = 10;

/** How long the clean-up may take, in milliseconds. */
const REMOVE_MS = 1_000;

/** Advice about locks that do not work, in the words of one technology. */
export interface LockAdvice {
  /** Returns the advice for a failure with this message; `undefined` where the message says everything. */
  failed(message: string): string | undefined;
  /** The advice if waiters are not woken. */
  readonly unwoken: string;
}

/** The conditions of a trial lock. */
export interface Trial {
  readonly advice: LockAdvice;
  /** Ends the trial, which cleans up all the same. */
  readonly signal: AbortSignal;
  /** Removes the record that a store keeps of a released lock. */
  readonly remove?: ((name: string) => Promise<unknown>) | undefined;
}

/**
 * Tries a lock as programs use it: acquires it, waits with another handle, renews, lists and releases. Missing rights
 * of the user show here. Rejects with the reason of the signal.
 */
export async function tryLock(store: Store, { signal, advice, remove }: Trial): Promise<Finding[]> {
  signal.throwIfAborted();
  // Others may examine the same store.
  const name = `holdfast:doctor:${crypto.randomUUID()}`;
  let step: Step = "acquire";
  try {
    await handOver(store, name, signal, (next) => step = next);
    const found = "a lock was acquired, waited for, renewed, listed and released";
    return [ok("lock", found, "Programs can use locks in the same way.")];
  } catch (fault) {
    signal.throwIfAborted();
    return [failure(step, fault, advice)];
  } finally {
    // A record that is left of a released lock does no harm, and was not part of the trial.
    if (remove !== undefined) await within(REMOVE_MS, remove(name), CLOCK).catch(() => {});
  }
}

/** A step of the trial. */
type Step = "acquire" | "renew" | "list" | "release" | "wait for";

/** Passes a lock from one handle to another. */
async function handOver(store: Store, name: string, signal: AbortSignal, begin: (step: Step) => void): Promise<void> {
  const options = { lease: LEASE_MS, wait: LIMIT_MS };
  begin("acquire");
  const first = await acquire(store, name, { ...options, signal });
  const over = new AbortController();
  const waiting = acquire(store, name, { ...options, signal: AbortSignal.any([signal, over.signal]) });
  waiting.catch(() => over.abort()); // It is awaited below.
  try {
    begin("renew");
    await first.extend();
    begin("list");
    while (!over.signal.aborted && (await store.query?.({ name }))?.pending.length === 0) await CLOCK.sleep(LOOK_MS);
    begin("release");
    await first.release();
    begin("wait for");
    await waiting;
  } finally {
    over.abort();
    await Promise.allSettled([first.release(), waiting.then((lock) => lock.release())]);
  }
}

function failure(step: Step, fault: unknown, advice: LockAdvice): Finding {
  const found = reason(fault);
  const words = `to ${step} a lock failed: ${found}`;
  if (fault instanceof LockError && fault.code === "timeout") {
    return error("busy", words, "Waiters are not woken in time: those of programs wait too long, too.", advice.unwoken);
  }
  return error("lock", words, `Programs cannot ${step} locks either.`, advice.failed(found) ?? "See the message.");
}
