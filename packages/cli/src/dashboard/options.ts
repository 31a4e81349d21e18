import { checkKeys, checkMilliseconds, show } from "@holdfast/lock/authors";

/** Decides whether the sender of a request may evict holders. It reads the headers, not the body. */
export type EvictionRight = (request: Request) => boolean | Promise<boolean>;

/** The options of `dashboard`. */
export interface DashboardOptions {
  /**
   * The title of the pages, such as the name of the store.
   *
   * @default {"Holdfast"}
   */
  title?: string | undefined;
  /**
   * Whether a lock may be taken away from its holders. A function decides for each request, for example by the
   * signed-in user. It is called for the pages that offer the eviction, and again for the eviction itself.
   *
   * @default {false}
   */
  evict?: boolean | EvictionRight | undefined;
  /**
   * How long to wait between two polls of the store while somebody looks at a page, in milliseconds, at least 100. When
   * the store takes long to answer, the pause is four times as long as the answer took.
   *
   * @default {500}
   */
  refresh?: number | undefined;
  /**
   * The path of the dashboard as the browser sees it, such as `/ops/locks`. The path of a request may begin with it; a
   * framework may also have removed it.
   *
   * @default {"/"}
   */
  basePath?: string | undefined;
}

/** The options, checked and complete. */
export interface DashboardSettings {
  readonly title: string;
  readonly mayEvict: EvictionRight;
  readonly refresh: number;
  /** Without a slash at its end: empty for the root. */
  readonly base: string;
}

const DEFAULT_REFRESH_MS = 500;
const MIN_REFRESH_MS = 100;

/** Segments of characters that need no escaping in a path, an attribute or a cookie. */
const BASE_PATH = /^(?:\/[A-Za-z0-9._~@%+-]+)*\/?$/;

/** Checks the options, and completes them. */
export function checkDashboardOptions(options: DashboardOptions): DashboardSettings {
  checkKeys(options, ["title", "evict", "refresh", "basePath"]);
  const { title = "Holdfast", evict = false, refresh = DEFAULT_REFRESH_MS, basePath = "/" } = options;
  if (typeof title !== "string") throw new TypeError(`title must be a string: got ${show(title)}`);
  if (typeof evict !== "boolean" && typeof evict !== "function") {
    throw new TypeError(`evict must be a boolean or a function: got ${show(evict)}`);
  }
  checkMilliseconds("refresh", refresh, MIN_REFRESH_MS);
  if (typeof basePath !== "string") throw new TypeError(`basePath must be a string: got ${show(basePath)}`);
  if (!BASE_PATH.test(basePath)) {
    throw new RangeError(`basePath must be a path such as "/locks": got ${show(basePath)}`);
  }
  const mayEvict = typeof evict === "function" ? evict : () => evict;
  return { title, mayEvict, refresh, base: basePath.replace(/\/$/, "") };
}
