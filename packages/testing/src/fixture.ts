import type { Store } from "@holdfast/lock";

/** One place where locks are kept, opened for each test. */
export interface StoreFixture {
  /** Returns another client of the same place. */
  connect(): Store | Promise<Store>;
  /** Returns the remains there except fences: the names of keys, rows or entries. */
  leftovers?(): string[] | Promise<string[]>;
  /** Stops the place like a crash, and starts it again. Left out where this is impossible. */
  restart?(): void | Promise<void>;
  /** Closes all clients, and the place. */
  close(): void | Promise<void>;
}

/** The behaviours of a store, by name. */
export type Behaviours = Record<string, (fixture: StoreFixture) => Promise<void>>;
