import type { Examination } from "../doctor/examination.ts";
import type { Store } from "@holdfast/lock";

/** The URL of a store, or the URLs of stores that are used together. */
export type StoreUrls = readonly [URL, ...URL[]];

/** A store that was opened for a command. */
export interface OpenedStore extends AsyncDisposable {
  readonly store: Store;
  /** The URL without user and password, for messages. */
  readonly label: string;
  /** Resolves to the fault in the URL when the store does not answer; `undefined` if not known. */
  diagnose?(): Promise<string | undefined>;
  /** The prefix of the names of its locks; left out where there is none. */
  readonly prefix?: string;
  /** Resolves to the reason why it lists only some of the locks, if it does. */
  partial?(): Promise<string | undefined>;
}

/** The options for opening a store. */
export interface OpenOptions {
  /** Whether the store must exist: otherwise a mistyped name would make a new file without locks. */
  readonly existing?: boolean | undefined;
}

/** A technology that the command line opens by URL. Each store brings its own. */
export interface Scheme {
  /** The protocols of its URLs with the colon, such as `redis:`. */
  readonly protocols: readonly string[];
  /** A URL as the help shows it. */
  readonly example: string;
  /** The word for several of its stores that are a quorum; left out where a URL stands alone. */
  readonly quorum?: string;
  /** Opens the store. Throws a `UsageError` if the URLs are wrong or a package is missing. */
  open(urls: StoreUrls, options?: OpenOptions): Promise<OpenedStore>;
  /** Returns the examination for `doctor`. Throws a `UsageError` if the URLs are wrong. */
  examination(urls: StoreUrls): Examination;
}
