import { LATE, within } from "../../contract/release.ts";
import type { Clock } from "../../time/clock.ts";
import { unlessAborted } from "../../time/wait_scope.ts";
import type { ZookeeperDone } from "./options.ts";

/** How long a call waits for a connection, in milliseconds: less than the engine waits for the call. */
export const CONNECT_MS = 1_500;

/** How long a connection may stay silent, in milliseconds, before the next server is tried. */
export const SILENT_MS = 5_000;

interface CallLimits {
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  readonly late: () => Error;
}

/** Resolves once `look` returns true, which is called now and when the connection changes. Rejects when it throws. */
export async function whenConnected(
  look: () => boolean,
  changed: Set<() => void>,
  limits: CallLimits,
): Promise<void> {
  let check = () => {};
  const connected = new Promise<void>((resolve, reject) => {
    check = () => {
      try {
        if (look()) resolve();
      } catch (error) {
        reject(error);
      }
    };
    changed.add(check);
    check();
  });
  await limited(CONNECT_MS, connected, limits).finally(() => changed.delete(check));
}

/** Sends a request, and resolves to the answer. */
export function answerTo<Results extends readonly unknown[]>(
  send: (done: ZookeeperDone<Results>) => void,
  failureOf: (error: unknown) => unknown,
  limits: CallLimits,
): Promise<Results> {
  const answer = new Promise<Results>((resolve, reject) => {
    send((error, ...results) => error ? reject(failureOf(error)) : resolve(results));
  });
  return limited(SILENT_MS, answer, limits);
}

async function limited<T>(ms: number, promise: Promise<T>, { clock, signal, late }: CallLimits): Promise<T> {
  try {
    return await within(ms, signal === undefined ? promise : unlessAborted(promise, signal), clock);
  } catch (error) {
    throw error === LATE ? late() : error;
  }
}
