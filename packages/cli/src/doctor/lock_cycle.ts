import { acquire } from "../../acquire.ts";
import { LockError } from "../../errors.ts";
import { SystemClock } from "../../internal/time/clock.ts";
import { within } from "../../internal/lease/release.ts";
import { reason } from "../../internal/reason.ts";
import type { Store } from "../../store.ts";
import { error, type Finding, ok } from "./finding.ts";

const CLOCK = new SystemClock();

/** How long each step may take, in milliseconds. */
const LIMIT_MS = 3_000;

const LEASE_MS = 10_000;

/** The pause between two looks at the queue, in milliseconds. */
const LOOK_MS = 10;

/** How long the clean-up may take, in milliseconds. */
const REMOVE_MS = 1_000;

/** What to do about locks that do not work, in the words of one technology. */
export interface LockAdvice {
  /** Returns what to do about a failure that says this; `undefined` where the message says all. */
  failed(message: string): string | undefined;
  /** What to do if waiters are not woken. */
  readonly unwoken: string;
}

/** How a lock is tried. */
export interface Trial {
  readonly advice: LockAdvice;
  /** Ends it; nothing is left behind all the same. */
  readonly signal: AbortSignal;
  /** Removes what a store keeps of a lock that was released. */
  readonly remove?: ((name: string) => Promise<unknown>) | undefined;
}

/**
 * Does with a lock of its own what programs do: acquires it, has another handle wait, renews, lists and releases. What
 * the user may not do shows here. Rejects with the reason of the signal.
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
    if (remove !== undefined) await within(REMOVE_MS, remove(name), CLOCK).catch(() => {});
  }
}

/** What is done with the lock, in words. */
type Step = "acquire" | "renew" | "list" | "release" | "wait for";

/** Hands a lock from one handle to another. */
async function handOver(store: Store, name: string, signal: AbortSignal, begin: (step: Step) => void): Promise<void> {
  const options = { lease: LEASE_MS, wait: LIMIT_MS };
  begin("acquire");
  const first = await acquire(store, name, { ...options, signal });
  const over = new AbortController();
  const waiting = acquire(store, name, { ...options, signal: AbortSignal.any([signal, over.signal]) });
  waiting.catch(() => over.abort());
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
