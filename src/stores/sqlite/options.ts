import type { Observer } from "../../contract/events.ts";
import { checkKeys, checkObserver, show } from "../../internal/validation.ts";

/** Options of `sqlite()`. */
export interface SqliteOptions {
  /** Called with the events of the locks of this store. */
  observer?: Observer | undefined;
}

/** The options of a store, checked and complete. */
export interface SqliteSettings {
  readonly observer: Observer | undefined;
}

/** Checks the path and the options, and completes the options. */
export function checkSqliteOptions(path: string, options: SqliteOptions): SqliteSettings {
  if (typeof path !== "string" || path === "") {
    throw new TypeError(`path must be a string that is not empty: got ${show(path)}`);
  }
  if (path.startsWith("file:")) {
    throw new TypeError(`path must be a path, not a URI: got ${show(path)}`);
  }
  const { observer } = checkKeys(options, ["observer"]);
  checkObserver(observer);
  return { observer };
}
