import type { Store } from "@holdfast/lock";

/**
 * Lets the calls of a store ask again when there was no answer in time, as `acquire()` does: a third of the shortest lease
 * of the suite is less than a busy machine needs. Returns the store.
 */
export function patient<Kind extends Store>(store: Kind): Kind {
  const [attempt, renew, release] = [store.attempt.bind(store), store.renew.bind(store), store.release.bind(store)];
  store.attempt = (claim, options) => answered(() => attempt(claim, options));
  store.renew = (claim) => answered(() => renew(claim));
  store.release = (claim) => answered(() => release(claim));
  const evict = store.evict?.bind(store);
  if (evict !== undefined) store.evict = (name, options) => answered(() => evict(name, options));
  return store;
}

async function answered<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith("no answer to a "))) throw error;
    }
  }
}
