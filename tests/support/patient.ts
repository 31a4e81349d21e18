import type { Attempt, Claim, Store } from "@holdfast/lock";

/** The suite takes a machine for too slow after less than that, and tries its scenario again, in milliseconds. */
const TOO_SLOW_MS = 300;

/**
 * Lets the calls of a store ask again when there was no answer in time, as `acquire()` does: a third of the shortest
 * lease of the suite is less than a busy machine needs. Returns the store.
 */
export function patient<Kind extends Store>(store: Kind): Kind {
  const [attempt, renew, release] = [store.attempt.bind(store), store.renew.bind(store), store.release.bind(store)];
  const leases = new Map<string, number>();
  const leaseOf = ({ handle, owner }: Claim) => leases.get(handle ?? owner) ?? 0;
  const note = (claim: Claim) => void leases.set(claim.handle ?? claim.owner, Math.max(claim.lease, leaseOf(claim)));
  store.attempt = async (claim, options) => {
    note(claim);
    let tries = 0;
    const answer: Attempt = await answered(() => (tries++, attempt(claim, options)));
    // The answer that was lost may have had the run.
    if (tries > 1 && answer.granted && claim.group !== undefined) {
      await new Promise((resolve) => setTimeout(resolve, TOO_SLOW_MS));
    }
    return answer;
  };
  // The first try may have released the lock, or have left it to a lease that is over now: `acquire()` knows that.
  store.renew = (claim) =>
    answered(() => renew(claim), (renewal) => renewal === "lost" && claim.lease < leaseOf(claim));
  store.release = (claim) => answered(() => release(claim), (released) => !released);
  const evict = store.evict?.bind(store);
  if (evict !== undefined) store.evict = (name, options) => answered(() => evict(name, options));
  return store;
}

/** Asks until there is an answer. Rejects with the fault if the answer may be due to a try that had none. */
async function answered<T>(ask: () => Promise<T>, mayBeDue: (answer: T) => boolean = () => false): Promise<T> {
  for (let fault: Error | undefined;;) {
    try {
      const answer = await ask();
      if (fault === undefined || !mayBeDue(answer)) return answer;
    } catch (error) {
      if (!isUnanswered(error)) throw error;
      fault = error;
      continue;
    }
    throw fault;
  }
}

/** Whether the engine had no answer in time, so that the request may have been executed. */
export function isUnanswered(error: unknown): error is Error {
  return error instanceof Error && error.message.startsWith("no answer to a ");
}
