import type { Observer } from "../contract/events.ts";
import { checkKeys, checkMilliseconds, checkObserver, show } from "../internal/validation.ts";
import type { Backend } from "./backend.ts";
import type { RemoteWaiters } from "./own_waiters.ts";

/** The options of {@linkcode cas}. */
export interface CasOptions {
  /**
   * How far apart two clocks may be, in milliseconds; 10,000 when left out. The backend decides which clocks are meant,
   * and what the option does: the documentation of `cas()` has a table. Refused where the server has timers.
   */
  readonly maxClockSkew?: number | undefined;
  /** Called for each event of the locks of this store. */
  readonly observer?: Observer | undefined;
}

/** The options, checked and with their defaults. */
export interface CasSettings {
  readonly maxClockSkew: number;
  readonly observer: Observer | undefined;
  /** Set where the handles are in other processes. */
  readonly remote?: RemoteWaiters | undefined;
}

const DEFAULT_SKEW_MS = 10_000;

/** Checks the arguments of {@linkcode cas}. */
export function checkCasOptions(backend: Backend, options: CasOptions): CasSettings {
  if (typeof backend !== "object" || backend === null) {
    throw new TypeError(`backend must be an object with read() and write(): got ${show(backend)}`);
  }
  const { timers } = backend;
  checkMethods("backend", backend, ["read", "write"]);
  checkMethods("backend", backend, ["remove", "list", "watch", "onClosed"], " or left out");
  if (timers !== undefined) {
    checkMethods("backend.timers", timers, ["start", "areOver"]);
    refuseClockSkew(options);
  }
  const { maxClockSkew = DEFAULT_SKEW_MS, observer } = checkKeys(options, ["maxClockSkew", "observer"]);
  if (maxClockSkew !== Infinity) checkMilliseconds("maxClockSkew", maxClockSkew, 0);
  checkObserver(observer);
  return { maxClockSkew, observer };
}

function checkMethods<T>(what: string, object: T, methods: readonly (keyof T & string)[], orElse = ""): void {
  for (const method of methods) {
    const value = object?.[method];
    if (typeof value === "function" || orElse !== "" && value === undefined) continue;
    throw new TypeError(`${what}.${method} must be a function${orElse}: got ${show(value)}`);
  }
}

/** Throws a `TypeError` for an option that is of no use where the server has timers. */
export function refuseClockSkew({ maxClockSkew }: CasOptions = {}): void {
  if (maxClockSkew === undefined) return;
  const why = "timers of the server decide that a lease is over, and no clock of a client";
  throw new TypeError(`maxClockSkew must be left out: ${why}. Got ${show(maxClockSkew)}`);
}
