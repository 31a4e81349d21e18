import type { Store } from "../../../src/contract/store.ts";

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

/**
 * Returns how locks are seen through what a store lists. The members of a run are listed also when they were served.
 */
export function listView(store: Pick<Store, "query">): View {
  return {
    async look(name, ids) {
      const { held, pending } = await store.query!({ name });
      const holds = held.some(({ handle }) => ids.has(handle));
      const waiting = pending.filter(({ handle, member }) => ids.has(handle) && !member);
      return { present: holds || waiting.length > 0, held: holds, behind: waiting.some(({ rank }) => rank > 0) };
    },
  };
}
