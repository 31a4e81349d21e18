import type { Observer } from "../../contract/events.ts";
import { checkKeys, checkObserver } from "../../internal/validation.ts";

/** Options of `memory()`. */
export interface MemoryOptions {
  /** Called with the events of the locks of this store. */
  observer?: Observer | undefined;
}

/** Checks the options, and returns the observer. */
export function checkMemoryOptions(options: MemoryOptions): Observer | undefined {
  const { observer } = checkKeys(options, ["observer"]);
  checkObserver(observer);
  return observer;
}
