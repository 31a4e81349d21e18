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

/** How a lock is tried. */
export interface Trial {
  /** Ends it; nothing is left behind all the same. */
  readonly signal: AbortSignal;
  /** Removes what a store keeps of a lock that was released. */
  remove?(name: string): Promise<unknown>;
}

/**
 * Does with a lock of its own what programs do: acquires it, has another handle wait, renews, lists and releases. What
 * the user may not do shows here, with the rule that grants it. Rejects with the reason of the signal.
 */
export async function tryLock(store: Store, { signal, remove }: Trial): Promise<Finding[]> {
  signal.throwIfAborted();
  // Others may examine the same store.
  const name = `holdfast:doctor:${crypto.randomUUID()}`;
  let step: Step = "acquire";
  try {
    await handOver(store, name, signal, (next) => step = next);
    const found = "a lock was acquired, waited for, renewed, listed and released";
    return [ok("lock", found, "The user has all rights that locks need.")];
  } catch (fault) {
    signal.throwIfAborted();
    return [failure(step, fault)];
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

function failure(step: Step, fault: unknown): Finding {
  const found = reason(fault);
  const code = fault instanceof LockError && fault.code === "timeout" ? "busy" : "lock";
  return error(
    code,
    `to ${step} a lock failed: ${found}`,
    `Programs cannot ${step} locks either.`,
    /ACL SETUSER/.test(found) ? "Give the user the right that the message names." : "See the message.",
  );
}
