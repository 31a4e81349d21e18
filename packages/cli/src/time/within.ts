import type { Clock } from "./clock.ts";

/** The reason that {@linkcode within} rejects with when its time is over. */
export const LATE: unique symbol = Symbol("late");

/**
 * Settles like the promise, or rejects with {@linkcode LATE} in `ms` milliseconds. What becomes of the promise then is
 * ignored.
 */
export function within<T>(ms: number, promise: Promise<T>, clock: Clock): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.timer(ms, () => reject(LATE));
    promise.then((value) => {
      timer.cancel();
      resolve(value);
    }, (error) => {
      timer.cancel();
      reject(error);
    });
  });
}
