import type { Clock } from "../../internal/time/clock.ts";

/** How long the store may take for one answer, in milliseconds. */
const ANSWER_MS = 10_000;

/** Asks the store, and rejects if it does not answer in time. What it was asked for may still be done then. */
export function answerOf<T>(ask: () => Promise<T>, clock: Clock): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = clock.timer(ANSWER_MS, () => reject(new Error(`no answer within ${ANSWER_MS / 1_000} s`)));
    // A store may throw instead of rejecting.
    const answer = Promise.resolve().then(ask);
    answer.then(resolve, reject).finally(() => late.cancel());
  });
}
