import type { Observer } from "../../events.ts";
import { checkKeys, checkMilliseconds, checkObserver, show } from "../../internal/validation.ts";
import type { Backend } from "./backend.ts";
import type { RemoteWaiters } from "./own_waiters.ts";

/** The options of {@linkcode cas}. */
export interface CasOptions {
  /**
   * How far the clocks of two processes may be apart, in milliseconds; 10,000 when left out. Without a server's clock a
   * caller that does not wait may succeed a dead holder so much later than its lease ends. `Infinity`: never.
   */
  readonly maxClockSkew?: number | undefined;
  /** Called for what happens to the locks of this store. */
  readonly observer?: Observer | undefined;
}

/** The options, checked and with their defaults. */
export interface CasSettings {
  readonly maxClockSkew: number;
  readonly observer: Observer | undefined;
  /** Given where the handles are in other processes. */
  readonly remote?: RemoteWaiters | undefined;
}

const DEFAULT_SKEW_MS = 10_000;

/** Checks the arguments of {@linkcode cas}. */
export function checkCasOptions(backend: Backend, options: CasOptions): CasSettings {
  if (typeof backend !== "object" || backend === null) {
    throw new TypeError(`backend must be an object with read() and write(): got ${show(backend)}`);
  }
  for (const method of ["read", "write"] as const) {
    if (typeof backend[method] !== "function") {
      throw new TypeError(`backend.${method} must be a function: got ${show(backend[method])}`);
    }
  }
  for (const method of ["remove", "list", "watch", "onClosed"] as const) {
    if (backend[method] !== undefined && typeof backend[method] !== "function") {
      throw new TypeError(`backend.${method} must be a function or left out: got ${show(backend[method])}`);
    }
  }
  const { maxClockSkew = DEFAULT_SKEW_MS, observer } = checkKeys(options, ["maxClockSkew", "observer"]);
  if (maxClockSkew !== Infinity) checkMilliseconds("maxClockSkew", maxClockSkew, 0);
  checkObserver(observer);
  return { maxClockSkew, observer };
}
