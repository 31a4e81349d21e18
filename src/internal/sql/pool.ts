/**
 * How long a client may wait for the answer to a statement, in milliseconds: a network can drop a connection silently.
 */
export const SILENT_MS = 10_000;

/** The reason for a late request that got no connection. */
export const NO_CONNECTION_FREE =
  "no connection of the pool was free: all are in use, or one is being opened. A process " +
  "that holds connections needs one more for its locks";
