import type { Observer } from "../../contract/events.ts";
import { checkKeys, checkObserver } from "../../internal/validation.ts";

/** Options of `memory()`. */
export interface MemoryOptions {
  /** Called with the events of the locks of this store. */
  observer?: Observer | undefined;
}

/** The options of a store, checked and complete. */
export interface MemorySettings {
  readonly observer: Observer | undefined;
}

/** Checks the options, and completes them. */
export function checkMemoryOptions(options: MemoryOptions): MemorySettings {
  const { observer } = checkKeys(options, ["observer"]);
  checkObserver(observer);
  return { observer };
}
