import type { Timer } from "../../src/time/clock.ts";

/** The `sleep` of a clock, made of its timers. */
export function sleep(
  clock: { timer(ms: number, run: () => void): Timer },
  ms: number,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      timer.cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = clock.timer(ms, done);
    signal?.addEventListener("abort", done);
  });
}
