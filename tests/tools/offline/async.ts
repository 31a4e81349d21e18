// Stands in for @std/async where its registry is out of reach: the functions that the tests use, over node:timers.
import { setTimeout as sleep } from "node:timers/promises";

/** Resolves in `ms` milliseconds. */
export function delay(ms: number): Promise<void> {
  return sleep(ms);
}

/** Settles like the promise, or rejects after `ms` milliseconds. */
export async function deadline<T>(promise: Promise<T>, ms: number): Promise<T> {
  const controller = new AbortController();
  const late = sleep(ms, undefined, { signal: controller.signal }).then(() => {
    throw new DOMException(`not settled within ${ms} ms`, "TimeoutError");
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    late.catch(() => {});
    controller.abort();
  }
}
