/** What is kept of some handles. */
export interface Look {
  /** Whether any of them is anywhere in what is kept of the lock. */
  readonly present: boolean;
  /** Whether any of them is anywhere but where waiters are kept. */
  readonly held: boolean;
  /** Whether one of them waits behind others. */
  readonly behind: boolean;
}

/** One of the places where locks are kept, as it is seen beside all ways on which something can happen. */
export interface View {
  /** Returns what is kept of the handles with some ids; rejects when it cannot be known. */
  look(lock: string, ids: ReadonlySet<string>): Promise<Look>;
}
