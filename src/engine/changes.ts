import type { EvictTarget } from "../../internal/listing/eviction.ts";
import type { Admission } from "../../internal/lock_record/lock_record.ts";
import { type Attempt, type AttemptOptions, type Claim, handleOf, type Renewal } from "../../store.ts";
import { type DocumentWaiter, formatWaiter, type LockDocument } from "./document.ts";
import type { OwnWaiters } from "./own_waiters.ts";
import type { DocumentChange, Effect, Moment } from "./plan.ts";
import { bytesOf } from "./sighting.ts";

/** Who changes a document because it holds the lock writes again at once after a refused write. */
const URGENT = () => true;

/** Waiters were not struck off by this store object: what is removed here is removed by `tidy()`. */
const everybody = () => true;

/** Attempts to acquire a lock for a claim of a store object, whose waiters are given. */
export function attempt(
  claim: Claim,
  { enqueue, steal = false }: AttemptOptions,
  local: OwnWaiters,
  store: string,
): DocumentChange<Attempt> {
  const handle = handleOf(claim);
  const busy = (): Attempt => ({ granted: false, retryAfter: local.retryAfter(claim) });

  const grant = (document: LockDocument, admission: Admission, { now, least, admit }: Moment): Effect<Attempt> => {
    if (!document.holders.has(handle) && !admission.steals) admit(claim);
    if (admission.steals) noteRevoked(document, document.revoke().map(({ claim }) => handleOf(claim)), claim.meta);
    const issue = document.issue(claim, admission, document.fence, least, everybody);
    document.fence = issue.last;
    const { fence, fences, run } = issue;
    const { beat } = document.grant(claim, fence, now, run);
    return {
      needs: "write",
      answer: (written) => {
        // A call that was answered together with this one may have ended it.
        if (written.holders.get(handle)?.beat !== beat) return busy();
        local.delete(claim);
        local.take(run);
        const contended = written.queue.length > 0;
        return { granted: true, fence, fences, contended, run: run.map(({ claim }) => handleOf(claim)) };
      },
    };
  };

  const wait = (document: LockDocument, waiter: DocumentWaiter, { reserve }: Moment): Effect<Attempt> => {
    reserve(bytesOf(formatWaiter(waiter)));
    document.counter = Math.max(document.counter, waiter.ticket);
    if (document.queue.length === 0) document.rollCall = { ...document.rollCall, since: waiter.queuedAt };
    document.enqueue(waiter);
    return {
      needs: "write",
      answer: () => {
        local.queued(waiter);
        return busy();
      },
    };
  };

  return {
    cannotWatch: !enqueue,
    isUrgent: ({ turn, holders }) => turn?.handle === handle || holders.has(handle),
    apply: (document, moment) => {
      const queued = document.waiter(claim);
      const place = queued ?? local.placeOf(claim) ??
        { ticket: document.counter + 1, queuedAt: Math.floor(moment.now) };
      const known = queued !== undefined || place.ticket <= document.counter;
      const { ticket, queuedAt } = place;
      const asking = queued ?? { claim, ticket, queuedAt, store, roll: document.rollCall.number };
      const decision = document.decide(claim, asking, known, steal, everybody);
      if (decision.outcome === "free") return grant(document, decision, moment);
      if (decision.outcome === "conflict") {
        const { conflict } = decision;
        return { needs: "proof", answer: () => ({ granted: false, conflict }) };
      }
      if (enqueue && queued === undefined) return wait(document, asking, moment);
      if (queued !== undefined) local.keepPlace(queued);
      return { needs: "read", answer: busy };
    },
  };
}

/** Renews the lease of a holder. */
export function renew(claim: Claim): DocumentChange<Renewal> {
  const handle = handleOf(claim);
  const { lease, renewal = 0 } = claim;
  return {
    isUrgent: URGENT,
    apply: (document, { now }) => {
      const holder = document.holders.get(handle);
      if (holder === undefined) return { needs: "proof", answer: () => "lost" };
      holder.beat = ++document.counter;
      if (renewal >= holder.renewal) Object.assign(holder, { lease, end: now + lease, renewal });
      return { needs: "write", answer: (written) => written.holders.has(handle) ? "renewed" : "lost" };
    },
  };
}

/** Removes a handle from the holders, or from the queue. */
export function release(claim: Claim): DocumentChange<boolean> {
  return {
    isUrgent: URGENT,
    apply: (document) => {
      const released = document.holders.delete(handleOf(claim)) || document.dequeue(claim);
      // A write, in any case: one that was not answered must not come after it.
      return { needs: "write", answer: () => released };
    },
  };
}

/** Gives the place of one handle in the queue to another one. */
export function succeed(from: Claim, to: Claim): DocumentChange<void> {
  return {
    isUrgent: () => false,
    apply: (document) => {
      const waiter = document.waiter(from);
      if (waiter === undefined || document.waiter(to) !== undefined) return { needs: "read", answer: () => {} };
      document.dequeue(from);
      document.enqueue({ ...waiter, claim: to });
      return { needs: "write", answer: () => {} };
    },
  };
}

/** Revokes the lock of the holders that are meant. */
export function evict(target: EvictTarget): DocumentChange<number> {
  return {
    isUrgent: URGENT,
    apply: (document) => {
      const handles = document.revoke(target).map(({ claim }) => handleOf(claim));
      noteRevoked(document, handles, target.meta);
      return { needs: handles.length > 0 ? "write" : "proof", answer: () => handles.length };
    },
  };
}

function noteRevoked(document: LockDocument, handles: readonly string[], by: string | undefined): void {
  if (handles.length > 0) document.revoked = { handles, by };
}
