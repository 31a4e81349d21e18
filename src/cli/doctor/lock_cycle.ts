import { acquire } from "../../acquire.ts";
import { LockError } from "../../errors.ts";
import { elapsed, SystemClock } from "../../internal/clock.ts";
import type { Store } from "../../store.ts";
import type { Finding } from "../scheme.ts";

const CLOCK = new SystemClock();

/** One name for all examinations: a store may keep the last fence of a name for days. */
const NAME = "holdfast:doctor";

/** How long each step may take, in milliseconds. */
const LIMIT_MS = 3_000;

const LEASE_MS = 10_000;

/** A waiter that is granted the lock later after its release than this, in milliseconds, was not woken: it has polled. */
const WOKEN_MS = 100;

/** How often that is tried: the machine may be busy. */
const TRIES = 3;

/** How long the waiter gets to enter the queue, in milliseconds. */
const QUEUE_MS = 100;

/**
 * Does with a lock of its own what programs do: acquires it, has another handle wait, renews, lists, releases, and sees
 * the waiter woken. What the user may not do shows here, with the rule that grants it.
 */
export async function tryLock(store: Store): Promise<Finding[]> {
  const steps: Step[] = [];
  try {
    let soonest = Infinity;
    for (let tries = 0; tries < TRIES && soonest > WOKEN_MS; tries++) {
      soonest = Math.min(soonest, await handOver(store, (step) => steps.push(step)));
    }
    return [cycle(), wakeup(soonest)];
  } catch (error) {
    return [failure(steps.at(-1) ?? "acquire", error)];
  }
}

/** What is done with the lock, in words. */
type Step = "acquire" | "renew" | "list" | "release" | "wait for";

/** Hands a lock from one handle to another. Resolves to the milliseconds from its release until the other has it. */
async function handOver(store: Store, begin: (step: Step) => void): Promise<number> {
  const options = { lease: LEASE_MS, wait: LIMIT_MS };
  begin("acquire");
  const first = await acquire(store, NAME, options);
  const over = new AbortController();
  const waiting = acquire(store, NAME, { ...options, signal: over.signal });
  waiting.catch(() => {});
  try {
    await CLOCK.sleep(QUEUE_MS);
    begin("renew");
    await first.extend();
    begin("list");
    await store.query?.({ name: NAME });
    begin("release");
    const released = CLOCK.now();
    await first.release();
    begin("wait for");
    await waiting;
    return elapsed(released, CLOCK.now());
  } finally {
    over.abort();
    await Promise.allSettled([first.release(), waiting.then((lock) => lock.release())]);
  }
}

function cycle(): Finding {
  return {
    level: "ok",
    code: "lock",
    found: "a lock was acquired, waited for, renewed, listed and released",
    meaning: "The user has all rights that locks need.",
    advice: "",
  };
}

function wakeup(ms: number): Finding {
  const found = `a waiter was granted the lock ${Math.round(ms)} ms after its release`;
  if (ms < WOKEN_MS) return { level: "ok", code: "wake-up", found, meaning: "Waiters are woken.", advice: "" };
  return {
    level: "warning",
    code: "wake-up",
    found,
    meaning: "Waiters are not woken: each finds out by asking again, after up to 5 s.",
    advice: 'Let the user subscribe and publish: "ACL SETUSER <user> +subscribe +publish &holdfast:*".',
  };
}

function failure(step: Step, error: unknown): Finding {
  const found = error instanceof Error ? error.message : String(error);
  const code = error instanceof LockError && error.code === "timeout" ? "busy" : "lock";
  return {
    level: "error",
    code,
    found: `to ${step} a lock failed: ${found}`,
    meaning: `Programs cannot ${step} locks either.`,
    advice: /ACL SETUSER/.test(found) ? "Give the user the right that the message names." : "See the message.",
  };
}
