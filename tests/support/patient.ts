import type { Claim, Store } from "@holdfast/lock";
import { isUnanswered } from "../../packages/testing/src/expect.ts";

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
    const { answer, fault } = await answered(() => attempt(claim, options));
    // The answer that was lost may have had the run.
    if (fault !== undefined && answer.granted && claim.group !== undefined) {
      await new Promise((resolve) => setTimeout(resolve, TOO_SLOW_MS));
    }
    return answer;
  };
  store.renew = async (claim) => {
    const { answer, fault } = await answered(() => renew(claim));
    // The first try may have left the lock to a lease that is over now: `acquire()` knows that.
    if (fault !== undefined && answer === "lost" && claim.lease < leaseOf(claim)) throw fault;
    return answer;
  };
  store.release = async (claim) => {
    const { answer, fault } = await answered(() => release(claim));
    // The first try may have released the lock.
    return answer || fault !== undefined;
  };
  const evict = store.evict?.bind(store);
  if (evict !== undefined) {
    store.evict = async (name, options) => (await answered(() => evict(name, options))).answer;
  }
  return store;
}

/** Asks until there is an answer. Returns it, with the fault of the last try that had none. */
async function answered<T>(ask: () => Promise<T>): Promise<{ readonly answer: T; readonly fault: Error | undefined }> {
  for (let fault: Error | undefined;;) {
    try {
      return { answer: await ask(), fault };
    } catch (error) {
      if (!isUnanswered(error)) throw error;
      fault = error;
    }
  }
}
