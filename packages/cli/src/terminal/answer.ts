import { StoreError } from "@holdfast/lock";
import { reason } from "@holdfast/lock/authors";
import { SystemClock } from "../time/clock.ts";
import { UsageError } from "../command.ts";
import type { OpenedStore } from "../schemes/scheme.ts";

/** How long a store may take to answer a question, in milliseconds. */
const ANSWER_MS = 5_000;

/**
 * Settles like a call to a store, or rejects when the signal aborts. A failure, and an answer later than 5 s, are a
 * `StoreError` that names the store and the reason.
 */
export async function answerOf<T>({ store, label }: OpenedStore, call: Promise<T>, signal: AbortSignal): Promise<T> {
  const timer = new AbortController();
  const stop = () => timer.abort();
  signal.addEventListener("abort", stop);
  if (signal.aborted) stop();
  const late = new SystemClock().sleep(ANSWER_MS, timer.signal).then((): never => {
    signal.throwIfAborted();
    const cause = store.connectionError;
    const why = cause === undefined ? "" : `: ${cause.message}`;
    throw new StoreError(`No answer from ${label} within ${ANSWER_MS / 1_000} s${why}`, { cause });
  });
  const answer = call.catch((error: unknown): never => {
    // What is wrong with the question is no failure of the store.
    if (error instanceof TypeError || error instanceof RangeError || error instanceof UsageError) throw error;
    const permanent = error instanceof StoreError && error.permanent;
    throw new StoreError(`Cannot ask ${label}: ${reason(error)}`, { cause: error, permanent });
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
  }
}

/** Resolves to an error that names the fault in the URL of a failed store, if known. */
export async function diagnosed({ diagnose }: OpenedStore, error: unknown): Promise<unknown> {
  if (!(error instanceof StoreError)) return error;
  const words = await diagnose?.();
  if (words === undefined) return error;
  return new StoreError(`${error.message} (${words})`, { cause: error, permanent: error.permanent });
}
