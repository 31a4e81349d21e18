import { calledOrAborted } from "../time/aborted.ts";
import { type Attempt, type AttemptOptions, type Claim, handleOf, type Meta, type Renewal } from "../contract/store.ts";
import type { Grant } from "./grant.ts";
import { FORGOTTEN_MS, type Handle } from "./handle.ts";
import { LocalAttempts } from "./local_attempts.ts";
import { LocalGrants } from "./local_grants.ts";
import { LocalQueue } from "./local_queue.ts";
import type { HandoffContext } from "./context.ts";

/** The memory of an unused name: its direct handle, if that shows no sign, and whether sections are long. */
type Unused = (direct: string | undefined, long: boolean) => void;

/**
 * The handles of this process that want one lock, in one queue, and the grant under which they have it in turn. A call
 * for a handle comes here, and goes to the part that decides about it: {@linkcode LocalQueue} orders the handles,
 * {@linkcode LocalAttempts} decides which handle asks the store, and {@linkcode LocalGrants} which handle has the lock
 * and until when.
 *
 * The holder and the next handle change in one synchronous step: in the answer of the store, in a release, or in the
 * attempt of the handle for which the lock is reserved. Code after an `await` checks again.
 *
 * 1. Without `keep` each handle asks the store. If the store grants runs, a grant includes the handles that follow
 *    directly in the store's queue.
 * 2. With `keep` only the first handle of the queue asks, the others sleep. It is granted a block of fences. Until
 *    `keep` has passed or the fences are used up, a release gives the lock to the next local handle.
 * 3. A handle that is not plain (shared, a permit, an owner) always asks, and the lock is not handed past it. The first
 *    plain handle behind it asks as well.
 * 4. When a section has lasted `keep`, all handles ask, until a grant ends without such a section. A handle that is
 *    handed the lock gives its place in the store's queue back.
 * 5. Of the handles in the store's queue, only the first attempts from time to time, in the name of the others.
 */
export class NameHandoff {
  readonly #context: HandoffContext;
  /** The handles that wait, by their ids, in the order of their first attempts. */
  readonly #queue: LocalQueue;
  readonly #grants: LocalGrants;
  readonly #attempts: LocalAttempts;

  /**
   * Creates the state without handles, or behind a handle that was alone when it attempted, and went to the store
   * directly.
   *
   * @param direct the id of that handle
   * @param long whether sections lasted as long as `keep` when handles last shared the lock
   * @param unused called when no handle waits here or holds the lock under a grant
   */
  constructor(context: HandoffContext, direct: string | undefined, long: boolean, unused: Unused) {
    this.#context = context;
    this.#queue = new LocalQueue({ keeps: context.settings.keep > 0, long, direct });
    this.#grants = new LocalGrants(context, this.#queue, () => unused(this.#queue.direct, this.#queue.long));
    this.#attempts = new LocalAttempts(context, this.#queue, this.#grants);
  }

  /** The grants of this process, by the id under which the store knows the holder. */
  get grants(): ReadonlyMap<string, Grant> {
    return this.#grants.byStoreId;
  }

  get waiting(): readonly Handle[] {
    return [...this.#queue.values()];
  }

  /** Drops a waiter that steals the lock. Returns whether the handle holds the lock under a grant instead. */
  drop(id: string): boolean {
    const handle = this.#queue.get(id);
    if (handle !== undefined) this.#grants.drop(handle);
    return this.#grants.of(id) !== undefined;
  }

  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const now = this.#context.clock.now();
    this.#grants.endExpired(now);
    const id = handleOf(claim);
    const held = this.#grants.of(id);
    if (held !== undefined) return this.#attempts.again(held, claim, options);
    const known = this.#queue.get(id);
    if (known === undefined && !options.enqueue) return this.#attempts.try(claim, options, now);
    const handle = known ?? this.#attempts.enter(claim, now);
    return this.#attempts.proceed(handle, options, now, handle.attempts(now));
  }

  renew(claim: Claim): Promise<Renewal> {
    const grant = this.#grants.of(handleOf(claim));
    if (grant === undefined) {
      return this.#grants.isHandedOn(handleOf(claim)) ? Promise.resolve("lost") : this.#context.store.renew(claim);
    }
    const { holding, lease } = grant;
    if (holding === undefined || lease.over) return Promise.resolve("lost");
    const { renewal = 0 } = claim;
    // A renewal that was sent twice, and comes late.
    if (renewal < holding.renewal) return Promise.resolve("renewed");
    holding.renewal = renewal;
    return lease.renew(claim.lease).then((outcome) => {
      if (outcome === "lost") {
        this.#grants.end(grant, "lost");
        this.#grants.tidy();
      } else this.#grants.watch(this.#context.clock.now());
      return outcome;
    });
  }

  /** Releases for a handle: the lock, or its place in the queue. */
  release(claim: Claim): Promise<boolean> {
    const id = handleOf(claim);
    const grant = this.#grants.of(id);
    if (grant !== undefined) return this.#releaseHeld(grant, id);
    const handle = this.#queue.get(id) ?? this.#grants.tried(id);
    if (handle !== undefined) return this.#leave(handle);
    if (this.#queue.direct === id) this.#queue.direct = undefined;
    this.#grants.tidy();
    return this.#grants.isHandedOn(id) ? Promise.resolve(false) : this.#context.store.release(claim);
  }

  /** Releases for a handle that holds the lock under a grant: the lock is handed on, lingers or goes back. */
  #releaseHeld(grant: Grant, id: string): Promise<boolean> {
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

  /** Removes a handle that has stopped waiting, and its place. Resolves to whether there was anything to release. */
  #leave(handle: Handle): Promise<boolean> {
    const { store } = this.#context;
    const { claim, place, unanswered } = handle;
    const passed = this.#grants.remove(handle, "left");
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
    const { store, track, clock } = this.#context;
    if (!this.#queue.keeps || this.#grants.current !== undefined || store.succeed === undefined) return false;
    const heir = this.#queue.first(clock.now());
    // A handle that has asked has its own place.
    if (heir?.state !== "sleeping" || heir.place !== "none") return false;
    const given = () => {
      // The heir's release may have been executed before. If the heir was granted the lock, other handles may have it
      // under the heir's id.
      if (heir.state === "left" && !this.#grants.isHandedOn(heir.id)) heir.leaveStore(this.#context);
    };
    track(store.succeed(claim, heir.claim).then(given, given));
    heir.place = "own";
    heir.wake("store");
    return true;
  }

  /** Drops a holder that leaves the lock to its lease: from now on the others wait in the store alone. */
  forget(claim: Claim): void {
    const grant = this.#grants.of(handleOf(claim));
    if (grant !== undefined) this.#grants.end(grant, "expired");
    this.#grants.tidy();
  }

  /** Resolves when another attempt of a handle makes sense. */
  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    const id = handleOf(claim);
    if (this.#grants.of(id) !== undefined) return Promise.resolve();
    const handle = this.#queue.get(id) ?? this.#attempts.enter(claim, clock.now(), "own");
    const inStore = handle.place !== "none" && store.wakeup !== undefined;
    return handle.listen(clock, signal, inStore ? () => store.wakeup!(handle.claim, signal) : undefined);
  }

  /** Resolves soon after the lock of a handle was revoked. */
  revocation(claim: Claim, signal: AbortSignal): Promise<Meta | void> | undefined {
    const grant = this.#grants.of(handleOf(claim));
    const holding = grant?.holding;
    if (grant === undefined || holding === undefined) return this.#context.store.revocation?.(claim, signal);
    this.#grants.watchRevocation(grant, true);
    return calledOrAborted<Meta | undefined>(signal, (revoked) => void (holding.revoked = revoked));
  }

  /** Stops handing on because this process revokes the lock. Returns the grants under which handles hold it. */
  revoke(): readonly Grant[] {
    const grants = this.#grants.held;
    this.#grants.revocations++;
    this.#grants.stop();
    this.#grants.tidy();
    return grants;
  }

  /** Records that this process has revoked these grants. A later grant may be revoked as well. */
  revoked(grants: readonly Grant[]): void {
    for (const grant of grants) if (grant.holding !== undefined) this.#grants.end(grant, "lost");
    this.revoke();
  }

  /** Ends the sharing: from now on each handle acts for itself. */
  close(): void {
    this.#queue.closed = true;
    this.#grants.stop();
    this.#queue.wakeAll();
    this.#grants.tidy();
  }

  wakeAll(): void {
    this.#queue.wakeAll();
  }

  /** Removes handles whose callers have shown no sign for long, with their places in the store's queue. */
  prune(): void {
    const now = this.#context.clock.now();
    for (const handle of this.waiting) {
      if (handle.canLead(now) || handle.sentFor(now) <= FORGOTTEN_MS) continue;
      // A place that cannot be given back ends with its waiter timeout.
      this.#context.track(this.#leave(handle).catch(() => {}));
    }
    this.#grants.forgetEnded(now);
    this.#grants.tidy();
  }
}
