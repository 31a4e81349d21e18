/** A rule of the fenced, owner-aware mutex. */
export type Rule =
  /** No two grants of a lock have the same fence. */
  | "fence is unique"
  /** If one acquire returned before another was called, its fence is the smaller. */
  | "fences rise"
  /** A release succeeds only while nobody else has got the lock. */
  | "only the owner releases"
  /** Nobody gets the lock while its holder still finds that it has it. */
  | "one holder at a time"
  /** The resource accepts no write with a smaller fence than one that it has accepted. */
  | "stale writes are refused"
  /** What the resource accepts continues what it accepted before. */
  | "no update is lost"
  /** The resource is shown no fence that nobody was granted. */
  | "fences are granted";

/** What must not be in a history, and where it is. */
export interface Violation {
  readonly rule: Rule;
  readonly lock: string;
  /** When it happened, by the clock of the history. */
  readonly at: number;
  /** The entries that contradict each other. */
  readonly entries: readonly unknown[];
}
