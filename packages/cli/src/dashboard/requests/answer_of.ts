import type { Clock } from "../../time/clock.ts";
import { LATE, within } from "../../time/within.ts";

/** How long the store may take for one answer, in milliseconds. */
const ANSWER_MS = 10_000;

/** Asks the store, and rejects if it does not answer in time. The store may still execute the request. */
export async function answerOf<T>(ask: () => Promise<T>, clock: Clock): Promise<T> {
  // A store may throw instead of rejecting.
  return await within(ANSWER_MS, Promise.resolve().then(ask), clock).catch((fault) => {
    throw fault === LATE ? new Error(`no answer within ${ANSWER_MS / 1_000} s`) : fault;
  });
}
