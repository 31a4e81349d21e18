/** What is kept under a key. */
export interface FoundDocument<Version = unknown> {
  /** The text; `undefined` if nothing is kept under the key. */
  readonly value: string | undefined;
  /** The version of the text, or of its absence. */
  readonly version: Version;
  /** The server's clock, in milliseconds since the Unix epoch, where the server has one: in each read. */
  readonly time?: number | undefined;
}

/** What a watch has found, which says nothing of a clock. */
export type WatchedDocument<Version = unknown> = Pick<FoundDocument<Version>, "value" | "version">;

/** How a write ended. */
export type WriteResult<Version = unknown> =
  | {
    readonly written: true;
    /** The version of what was written. */
    readonly version: Version;
    /** The server's clock, see {@linkcode FoundDocument.time}, if that costs no further trip. */
    readonly time?: number | undefined;
  }
  | {
    /** Refused: another version is there, or it is too early. */
    readonly written: false;
    /** What is there instead, if that costs no further trip; it must be read after the write was refused, or with that. */
    readonly found?: FoundDocument<Version> | undefined;
  };

/** The options of a write. */
export interface WriteOptions {
  /**
   * The write declares a lease over that lasts until this moment of the server's clock, in milliseconds since the Unix
   * epoch. A server that can compare it with its clock in the same step refuses the write if it is too early.
   */
  readonly notBefore?: number | undefined;
  /**
   * Whether the write is news for others: it gives a waiter the turn, revokes a lock, or calls the roll. A backend whose
   * notifications cost something may leave out all others: who waits looks by itself when a lease or a turn ends, and
   * every 5 s.
   */
  readonly notify?: boolean | undefined;
}

/** Some of the documents. */
export interface ListedDocuments<Version = unknown> {
  /** The documents of this page, with their keys. */
  readonly documents: readonly (FoundDocument<Version> & { readonly key: string })[];
  /** Where the next page begins; `undefined` after the last one. */
  readonly cursor?: string | undefined;
}

/**
 * Where {@linkcode cas} keeps its documents: a store of texts that can replace one if its version is still the one that was
 * read.
 *
 * Each call may reject when it is not known how it ended; the engine then reads again. An error that says that nothing
 * was done is a `StoreError`, a `permanent` one if a retry is of no use.
 *
 * @typeParam Version what tells two states of a key apart. No version of a key may ever come back, except that of its
 * absence.
 */
export interface Backend<Version = unknown> {
  /** Reads what is kept under a key. It must not be older than what was last written before the call. */
  read(key: string): Promise<FoundDocument<Version>>;
  /** Writes a text under a key if the version of what is there is the given one. */
  write(key: string, value: string, version: Version, options: WriteOptions): Promise<WriteResult<Version>>;
  /** Deletes a key if the version of what is there is the given one. Resolves to whether it was. */
  remove?(key: string, version: Version): Promise<boolean>;
  /** Lists about `limit` documents from a place on. A document that is there during all calls is listed at least once. */
  list?(limit: number, cursor: string | undefined): Promise<ListedDocuments<Version>>;
  /**
   * Resolves when what is kept under a key is another version than the given one, or may be; also when `signal` aborts.
   * Resolves to what is there now, if that costs no further trip; it may be out of date by then, but not older than the
   * given version. It may miss the writes that {@linkcode WriteOptions.notify} leaves out. Without it waiters poll.
   */
  watch?(key: string, version: Version, signal: AbortSignal): Promise<WatchedDocument<Version> | void>;
  /** The largest text that it can keep, in bytes of UTF-8; 1,000,000 when left out. */
  readonly maxBytes?: number | undefined;
  /**
   * Whether more than one machine decides on writes, each by a clock of its own: multi-writer clusters, and those that
   * promote another machine. Leases then end `maxClockSkew` later for others.
   */
  readonly severalClocks?: boolean | undefined;
  /** Whether it was closed for good. */
  readonly closed?: boolean | undefined;
  /** Calls a function once it was closed for good. Returns what cancels that. */
  onClosed?(run: () => void): () => void;
}
