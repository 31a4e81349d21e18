import type { Examination } from "../doctor/examination.ts";
import type { Store } from "../../store.ts";

/** The URL of a store, or those of several that are used together. */
export type StoreUrls = readonly [URL, ...URL[]];

/** A store that was opened for a command. */
export interface OpenedStore extends AsyncDisposable {
  readonly store: Store;
  /** The URL without user and password, for messages. */
  readonly label: string;
  /** Resolves to what is wrong with the URL when the store does not answer; `undefined` if that is not known. */
  diagnose?(): Promise<string | undefined>;
  /** What stands before the names of its locks; left out where nothing can. */
  readonly prefix?: string;
  /** Resolves to why it lists only some of the locks, if that is so. */
  partial?(): Promise<string | undefined>;
}

/** How a store is opened. */
export interface OpenOptions {
  /** Whether the store must be there already: a file with a mistyped name would else be made, and has no locks. */
  readonly existing?: boolean | undefined;
}

/** A technology that the command line can open by URL. Each store brings its own. */
export interface Scheme {
  /** The protocols of its URLs with the colon, such as `redis:`. */
  readonly protocols: readonly string[];
  /** A URL as the help shows it. */
  readonly example: string;
  /** What several of its stores are called that are a quorum; left out where it is opened by one URL only. */
  readonly quorum?: string;
  /** Opens the store. Throws a `UsageError` if the URLs are wrong or a package is missing. */
  open(urls: StoreUrls, options?: OpenOptions): Promise<OpenedStore>;
  /** Returns what `doctor` examines. Throws a `UsageError` if the URLs are wrong. */
  examination(urls: StoreUrls): Examination;
}
