import type { Store } from "../store.ts";

/** One place where locks are kept, opened anew for each test. */
export interface StoreFixture {
  /** Another client of the same place. */
  connect(): Store | Promise<Store>;
  /** What is left there, fences aside: the names of keys, rows or entries. */
  leftovers?(): string[] | Promise<string[]>;
  /** Stops the place and starts it again, as after a crash, where that can be done. */
  restart?(): void | Promise<void>;
  /** Closes all clients, and the place. */
  close(): void | Promise<void>;
}
