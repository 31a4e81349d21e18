import type { Store } from "../store.ts";

/** One place where locks are kept, opened for each test. */
export interface StoreFixture {
  /** Returns another client of the same place. */
  connect(): Store | Promise<Store>;
  /** Returns what is left there except fences: the names of keys, rows or entries. */
  leftovers?(): string[] | Promise<string[]>;
  /** Stops the place as a crash would, and starts it again. Left out where that cannot be done. */
  restart?(): void | Promise<void>;
  /** Closes all clients, and the place. */
  close(): void | Promise<void>;
}

/** The behaviours of a store, by name. */
export type Behaviours = Record<string, (fixture: StoreFixture) => Promise<void>>;
