/** The content of a key. */
export interface FoundDocument<Version = unknown> {
  /** The text; `undefined` if the key has none. */
  readonly value: string | undefined;
  /** The version of the text, or of its absence. */
  readonly version: Version;
  /** The server's clock in milliseconds since the Unix epoch, in each read; left out where the server tells no time. */
  readonly time?: number | undefined;
}

/** The result of a watch, which has no clock. */
export type WatchedDocument<Version = unknown> = Pick<FoundDocument<Version>, "value" | "version">;

/** The outcome of a write. */
export type WriteResult<Version = unknown> =
  | {
    readonly written: true;
    /** The version of the written text. */
    readonly version: Version;
    /** The server's clock, see {@linkcode FoundDocument.time}, if it costs no further trip. */
    readonly time?: number | undefined;
  }
  | {
    /** The write was refused: another version is there, or it is too early. */
    readonly written: false;
    /** The present content, if it costs no further trip; read after the refusal, or in the same step. */
    readonly found?: FoundDocument<Version> | undefined;
  };

/** The options of a write. */
export interface WriteOptions {
  /**
   * Set when the write declares a lease over: the lease lasts until this moment of the server's clock, in milliseconds
   * since the Unix epoch. A server that can compare it with its clock in the same step refuses an earlier write.
   */
  readonly notBefore?: number | undefined;
  /**
   * Whether others need to know of the write: it gives a waiter the turn, takes a waiter's place, or revokes a lock. A
   * backend with costly notifications may leave out other writes: waiters check by themselves when a lease or a turn
   * ends, and every 5 s.
   */
  readonly notify?: boolean | undefined;
  /**
   * The id of the only store object that has to act on the write, as it gives the turn to a waiter there. The others
   * need to know of it only after the 1.5 s that a turn may stay unused.
   */
  readonly heir?: string | undefined;
}

/** The options of a watch. */
export interface WatchOptions {
  /**
   * Whether a waiter waits. Otherwise only holders watch for revocation: then nothing of the watch may keep the process
   * alive. A watch that would must reject; the document is then read once a second.
   */
  readonly isWaited: boolean;
  /** The id of the store object that watches: see {@linkcode WriteOptions.heir}. */
  readonly store?: string | undefined;
}

/** One version of a key. */
export interface KeyVersion<Version = unknown> {
  /** The key. */
  readonly key: string;
  /** Its version. */
  readonly version: Version;
}

/** Some of the documents. */
export interface ListedDocuments<Version = unknown> {
  /** The documents of this page, with their keys. */
  readonly documents: readonly (FoundDocument<Version> & { readonly key: string })[];
  /** Where the next page begins; `undefined` on the last page. */
  readonly cursor?: string | undefined;
}

/**
 * Timers that run in the server, and that no client and no member can end early. With them, no clock of a client
 * decides that a lease is over.
 *
 * A timer that is *prolonged*, such as a lease that is kept alive or an ephemeral node, does not qualify: servers
 * prolong it in the memory of one machine, which may confirm it after others have ended it.
 */
export interface ServerTimers {
  /**
   * Starts a timer that runs for at least `ms` milliseconds from the call on, and not for much longer, even if this
   * process or the leading machine fails. Once the timer certainly runs, resolves to its name of up to 40 characters,
   * which no other timer ever has.
   *
   * @param signal aborts when the timer is no longer wanted
   */
  start(ms: number, signal: AbortSignal): Promise<string>;
  /**
   * Resolves to whether timers of this or another process are over, in the order of their names. The answer must not
   * come from a state older than the call; `undefined` for a timer about which the server cannot tell, so that another
   * timer is started.
   */
  areOver(names: readonly string[]): Promise<readonly (boolean | undefined)[]>;
}

/**
 * A store for the documents of {@linkcode cas}: it keeps texts, and replaces a text only if its version has not changed
 * since it was read.
 *
 * A key is the name of a lock. Under the key `""`, which no lock has, the engine keeps its progress in removing
 * documents, if the backend has `list` and `remove`.
 *
 * Calls for different keys run at the same time, perhaps over several connections: a write must compare and replace in
 * one step.
 *
 * A call may reject when its outcome is unknown; the engine then reads again. An error that nothing was done is a
 * `StoreError`, which is `permanent` if a retry is of no use.
 *
 * @typeParam Version tells two states of a key apart. No version of a key may ever come back, except the version of its
 * absence.
 */
export interface Backend<Version = unknown> {
  /** Reads the content of a key, which must include every write before the call. */
  read(key: string): Promise<FoundDocument<Version>>;
  /** Writes a text under a key if the key still has the given version. */
  write(key: string, value: string, version: Version, options: WriteOptions): Promise<WriteResult<Version>>;
  /**
   * Deletes each of these keys, 100 at most, that still has the given version, in as few requests as possible. Resolves
   * to how many were deleted.
   */
  remove?(documents: readonly KeyVersion<Version>[]): Promise<number>;
  /**
   * Lists about `limit` documents from a place on. A document that exists during all calls is listed at least once. Any
   * process may continue from a cursor, at any time. Rejects with a `RangeError` if the text is no cursor.
   */
  list?(limit: number, cursor: string | undefined): Promise<ListedDocuments<Version>>;
  /**
   * Resolves when the key's version may differ from the given one, or when `signal` aborts. Resolves to the present
   * content, if it costs no further trip; it may be out of date by then, but not older than the given version. It may
   * miss writes without {@linkcode WriteOptions.notify}, and be 1.5 s late where there is a
   * {@linkcode WriteOptions.heir}. Without this method waiters poll.
   */
  watch?(
    key: string,
    version: Version,
    signal: AbortSignal,
    options: WatchOptions,
  ): Promise<WatchedDocument<Version> | void>;
  /**
   * The timers of the server, where it tells no time but has timers. Without them leases go by the clocks of clients.
   */
  readonly timers?: ServerTimers | undefined;
  /** The largest text that it can keep, in bytes of UTF-8; 1,000,000 when left out. */
  readonly maxBytes?: number | undefined;
  /**
   * Whether several machines decide on writes, each by its own clock: multi-writer clusters, and clusters that promote
   * another machine. Leases then end `maxClockSkew` later for others: the documentation of `cas()` has a table.
   */
  readonly severalClocks?: boolean | undefined;
  /** The reason for late requests, such as a pool without a free connection. Late requests have it in their error. */
  readonly lateBecause?: string | undefined;
  /** Whether it was closed for good. */
  readonly closed?: boolean | undefined;
  /** Calls a function once the backend was closed for good. Returns a function that cancels this. */
  onClosed?(run: () => void): () => void;
}
