import type { EvictTarget } from "../internal/listing/eviction.ts";
import type { Admission } from "../rules/lock_record.ts";
import { type Attempt, type AttemptOptions, type Claim, handleOf, type Renewal } from "../contract/store.ts";
import { isFirst } from "./contention.ts";
import { type DocumentWaiter, formatWaiter, type LockDocument } from "./document.ts";
import type { OwnWaiters } from "./own_waiters.ts";
import type { DocumentChange, Effect } from "./plan.ts";
import { bytesOf } from "./seen.ts";
import type { DocumentView } from "./view.ts";

/** Marks a change by the holder of the lock, which writes again at once after a refused write. */
const URGENT = () => true;

/** Takes all waiters for alive: only `tidy()` removes the waiters of this store object. */
const everybody = () => true;

/** Attempts to acquire a lock for a claim of a store object, given its waiters. */
export function attempt(
  claim: Claim,
  { enqueue, steal = false }: AttemptOptions,
  local: OwnWaiters,
): DocumentChange<Attempt> {
  const handle = handleOf(claim);
  const busy = ({ time }: DocumentView): Attempt => {
    return { granted: false, retryAfter: local.retryAfter(claim, time !== undefined) };
  };

  const grant = (document: LockDocument, admission: Admission, view: DocumentView): Effect<Attempt> => {
    if (admission.steals) noteRevoked(document, document.revoke().map(({ claim }) => handleOf(claim)), claim.meta);
    const issue = document.issue(claim, admission, document.fence, view.least, everybody);
    document.fence = issue.last;
    const { fence, fences, run } = issue;
    const holder = document.grant(claim, fence, view.now, run);
    holder.timer = view.timerFor(holder.lease);
    return {
      needs: "write",
      // A repeated write would take the lock from a handle that has stolen it meanwhile.
      once: admission.steals,
      // Granted even if a call that is answered together with this call has revoked the lock: after *busy* the caller
      // would steal again.
      answer: (written) => {
        local.delete(claim);
        local.take(run);
        const contended = written.queue.length > 0;
        return { granted: true, fence, fences, contended, run: run.map(({ claim }) => handleOf(claim)) };
      },
    };
  };

  const wait = (document: LockDocument, waiter: DocumentWaiter, view: DocumentView): Effect<Attempt> => {
    document.counter = Math.max(document.counter, waiter.ticket);
    document.enqueue(waiter);
    return {
      needs: "write",
      blocked: true,
      answer: () => {
        local.queued(waiter);
        return busy(view);
      },
    };
  };

  return {
    get cannotWatch() {
      return !enqueue || local.isEnding(claim);
    },
    get patience() {
      return enqueue ? local.leftOf(claim) : 0;
    },
    // Writes of others are no fault: the call waits for as long as its caller does.
    whenOutpaced: enqueue ? () => ({ granted: false, retryAfter: 0 }) : undefined,
    isUrgent: (document) => isFirst(handle, document),
    apply: (document, view, room) => {
      const queued = document.waiter(claim);
      const place = queued ?? local.placeOf(claim) ??
        { ticket: document.counter + 1, queuedAt: Math.floor(view.now) };
      const known = queued !== undefined || place.ticket <= document.counter;
      const { ticket, queuedAt } = place;
      const asking = queued ?? { claim, ticket, queuedAt, store: local.store };
      const decision = document.decide(claim, asking, known, steal, everybody);
      if (decision.outcome === "free") {
        if (!document.holders.has(handle) && !decision.steals) room.admit(claim);
        return grant(document, decision, view);
      }
      if (decision.outcome === "conflict") {
        const { conflict } = decision;
        return { needs: "proof", blocked: true, answer: () => ({ granted: false, conflict }) };
      }
      if (enqueue && queued === undefined) {
        room.reserve(bytesOf(formatWaiter(asking)));
        return wait(document, asking, view);
      }
      if (queued !== undefined) local.keepPlace(queued);
      return { needs: "read", blocked: true, answer: () => busy(view) };
    },
  };
}

/** Renews the lease of a holder. */
export function renew(claim: Claim): DocumentChange<Renewal> {
  const handle = handleOf(claim);
  const { lease, renewal = 0 } = claim;
  return {
    passes: true,
    isUrgent: URGENT,
    apply: (document, view) => {
      const holder = document.holders.get(handle);
      if (holder === undefined) return { needs: "proof", answer: () => "lost" };
      holder.beat = ++document.counter;
      if (renewal >= holder.renewal) Object.assign(holder, { lease, end: view.now + lease, renewal });
      holder.timer = view.timerFor(holder.lease);
      return { needs: "write", answer: (written) => written.holders.has(handle) ? "renewed" : "lost" };
    },
  };
}

/** Removes a handle from the holders, or from the queue. */
export function release(claim: Claim): DocumentChange<boolean> {
  const handle = handleOf(claim);
  return {
    passes: true,
    isUrgent: (document) => isFirst(handle, document),
    apply: (document) => {
      const released = document.holders.delete(handle) || document.dequeue(claim);
      // Always a write: an earlier unanswered write must not be executed after it.
      return { needs: "write", once: released, answer: () => released };
    },
  };
}

/** Gives the place of one handle in the queue to another. */
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

/** Revokes the lock of the selected holders. */
export function evict(target: EvictTarget): DocumentChange<number> {
  return {
    isUrgent: URGENT,
    apply: (document) => {
      const handles = document.revoke(target).map(({ claim }) => handleOf(claim));
      noteRevoked(document, handles, target.meta);
      const evicts = handles.length > 0;
      return { needs: evicts ? "write" : "proof", once: evicts, answer: () => handles.length };
    },
  };
}

function noteRevoked(document: LockDocument, handles: readonly string[], by: string | undefined): void {
  if (handles.length > 0) document.revoked = { handles: [...document.revoked?.handles ?? [], ...handles], by };
}
