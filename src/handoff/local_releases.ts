import type { Instant } from "../time/clock.ts";
import { releaseWithRetry } from "../contract/release.ts";
import type { HandoffContext } from "./context.ts";
import type { Grant } from "./grant.ts";
import type { Handle } from "./handle.ts";
import type { LocalGrants } from "./local_grants.ts";
import type { LocalQueue } from "./local_queue.ts";

/** After this many milliseconds without a request a handle without a sign of its caller is removed. */
const FORGOTTEN_MS = 60_000;

/** How the handles of one name leave: a holder with the lock, a waiter with its place in the queues. */
export class LocalReleases {
  readonly #context: HandoffContext;
  readonly #queue: LocalQueue;
  readonly #grants: LocalGrants;

  constructor(context: HandoffContext, queue: LocalQueue, grants: LocalGrants) {
    this.#context = context;
    this.#queue = queue;
    this.#grants = grants;
  }

  /** Releases for a handle that holds the lock under a grant: the lock is handed on, lingers or goes back. */
  release(grant: Grant, id: string): Promise<boolean> {
    if (this.#grants.handOnFrom(id, grant, this.#context.clock.now())) return Promise.resolve(true);
    this.#grants.end(grant, "released");
    // Until the store has answered, the handle may release again.
    return grant.lease.release().then((released) => {
      this.#grants.forget(id);
      return released;
    }, (error) => {
      // The caller does not retry for ever.
      if (!grant.abandoned) this.#context.track(grant.lease.undo().then(() => this.#grants.forget(id)));
      grant.abandoned = true;
      throw error;
    });
  }

  /** Removes a handle that steals the lock, or has no caller. It releases its grants itself. */
  drop(handle: Handle): void {
    this.#remove(handle, "gone");
    this.#grants.wakeLeaders();
    this.#grants.tidy();
  }

  /** Removes a handle that has stopped waiting. A lock reserved for it is handed on, or goes back. */
  #remove(handle: Handle, state: "left" | "gone"): Promise<void> | undefined {
    const grant = this.#grants.current;
    const isNext = handle.state === "next";
    this.#queue.delete(handle.id);
    handle.state = state;
    handle.settles();
    if (grant !== undefined) grant.members = grant.members.filter((member) => member !== handle);
    return isNext ? this.#grants.handOnOrEnd(grant!) : undefined;
  }

  /** Removes a handle that has stopped waiting, and its place. Resolves to whether there was anything to release. */
  leave(handle: Handle): Promise<boolean> {
    const { store } = this.#context;
    const { claim, place, unanswered } = handle;
    const passed = this.#remove(handle, "left");
    let released = Promise.resolve(true);
    if (place === "none" && unanswered === 0) store.forget?.(claim);
    else {
      const succeeded = unanswered === 0 && this.#succeed(handle);
      released = store.release(claim).then((released) => released || succeeded);
    }
    this.#grants.wakeLeaders();
    this.#grants.tidy();
    return Promise.all([released, passed]).then(([released]) => released);
  }

  /** Gives a handle's place in the store's queue to the next local handle without one. Returns whether it did. */
  #succeed({ claim }: Handle): boolean {
    const { store, track } = this.#context;
    if (!this.#queue.keeps || this.#grants.current !== undefined || store.succeed === undefined) return false;
    const heir = this.#queue.first(this.#context.clock.now());
    // A handle that has asked has its own place.
    if (heir?.state !== "sleeping" || heir.place !== "none") return false;
    const given = () => {
      // The heir's release may have been executed before. If the heir was granted the lock, other handles may have it
      // under the heir's id.
      if (heir.state === "left" && !this.#grants.isHandedOn(heir.id)) this.leaveStore(heir);
    };
    track(store.succeed(claim, heir.claim).then(given, given));
    heir.place = "own";
    heir.wake("store");
    return true;
  }

  /** Gives the place of a handle in the store's queue back, in the background. */
  leaveStore(handle: Handle): void {
    const { store, clock, track, leaving } = this.#context;
    const release = () => releaseWithRetry(store, handle.claim, clock);
    // A place that cannot be given back ends with its waiter timeout.
    const left = handle.answered(clock, FORGOTTEN_MS).then(release).catch(() => {}).then(() =>
      void leaving.delete(handle.id)
    );
    leaving.set(handle.id, left);
    track(left);
  }

  /** Removes handles whose callers have shown no sign for long, with their places in the store's queue. */
  prune(now: Instant): void {
    for (const handle of [...this.#queue.values()]) {
      if (!handle.canLead(now) && handle.sentFor(now) > FORGOTTEN_MS) {
        // A place that cannot be given back ends with its waiter timeout.
        this.#context.track(this.leave(handle).catch(() => {}));
      }
    }
  }
}
