import type { Observer } from "../../contract/events.ts";
import { checkKeys, checkObserver, show } from "../../internal/validation.ts";

/** Options of `sqlite()`. */
export interface SqliteOptions {
  /** Called with the events of the locks of this store. */
  observer?: Observer | undefined;
}

/** Checks the path and the options, and returns the observer. */
export function checkSqliteOptions(path: string, options: SqliteOptions): Observer | undefined {
  if (typeof path !== "string" || path === "") {
    throw new TypeError(`path must be a string that is not empty: got ${show(path)}`);
  }
  if (path.startsWith("file:")) {
    throw new TypeError(`path must be a path, not a URI: got ${show(path)}`);
  }
  const { observer } = checkKeys(options, ["observer"]);
  checkObserver(observer);
  return observer;
}
