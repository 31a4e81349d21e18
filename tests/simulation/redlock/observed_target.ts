import {
  type Attempt,
  type AttemptOptions,
  type Claim,
  type Granted,
  handleOf,
  type Meta,
  type Renewal,
  type Store,
} from "../../../src/contract/store.ts";
import { PassingStore } from "../../support/passing_store.ts";
import { currentHandle, type Handle, runFor } from "./handles.ts";
import { checkFences, checkReleased } from "./observed_store.ts";
import type { Run } from "./run.ts";

/** By the fastest clock the store keeps a lock for this part of its lease, at the least. */
const AT_LEAST = 0.85;

/**
 * A store as what hands its locks on uses it: a request may be made by another handle than the one whose id it has.
 * Notes which handle the store has granted which fences, because others have the lock under its id.
 */
export class ObservedTarget extends PassingStore {
  readonly #run: Run;
  readonly succeed?: (from: Claim, to: Claim) => Promise<void>;

  constructor(store: Store, run: Run) {
    super(store);
    this.#run = run;
    if (store.succeed === undefined) return;
    this.succeed = (from, to) => {
      run.transitions.take("place of a handle given to another one");
      return runFor(this.#of(from), () => store.succeed!(from, to));
    };
  }

  override async attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const handle = this.#of(claim);
    const { world, transitions } = this.#run;
    if (handle?.head !== undefined) {
      transitions.take("member of a run attempted again");
      handle.head = undefined;
      // Its former place is that of a member: others may have been served meanwhile.
      handle.queued.clear();
    }
    const sentAt = world.now;
    const attempt = await runFor(handle, () => this.store.attempt(claim, options));
    if (!attempt.granted || handle === undefined) return attempt;
    const { fences = 1 } = claim;
    checkFences(this.#run, handle, attempt, fences);
    if (fences > 1 && fences !== handle.wish) transitions.take("process granted the lock");
    this.#granted(handle, attempt, sentAt + claim.lease * AT_LEAST);
    return attempt;
  }

  #granted(handle: Handle, { fence, fences = 1, run = [] }: Granted, until: number): void {
    const { handles, transitions } = this.#run;
    if (run.length > 0) transitions.take("run granted");
    handles.grant(handle, fence, Math.max(fences, run.length + 1));
    handle.head = undefined;
    const members = run.map((id) => handles.of(id)).filter((member) => member !== undefined);
    for (const member of members) member.head = handle;
    handle.run = { members, until };
  }

  override async renew(claim: Claim): Promise<Renewal> {
    const handle = this.#of(claim);
    const { run } = handle ?? {};
    const { world, transitions } = this.#run;
    const asking = currentHandle();
    const handsOn = asking !== undefined && asking.grantedAt === undefined && asking.head !== undefined;
    const until = world.now + claim.lease * AT_LEAST;
    // A shorter lease may count from now on.
    if (run !== undefined) run.until = Math.min(run.until, until);
    try {
      const renewal = await runFor(handle, () => this.store.renew(claim));
      if (run !== undefined) run.until = renewal === "lost" ? -Infinity : until;
      if (renewal === "lost") transitions.take("lock of a process lost");
      if (handsOn && renewal === "lost") transitions.take("run found lost as it was to be handed on");
      return renewal;
    } catch (error) {
      if (handsOn) transitions.take("renewal failed as a run was to be handed on");
      throw error;
    }
  }

  override async release(claim: Claim): Promise<boolean> {
    const handle = this.#of(claim);
    const { transitions } = this.#run;
    if (handle?.run === undefined && handle?.head !== undefined) {
      transitions.take("place in the queue of a member removed");
    }
    const releasing = runFor(handle, () => this.store.release(claim));
    if (handle !== undefined) checkReleased(this.#run, handle);
    const released = await releasing;
    if (released && handle?.grantedAt !== undefined) transitions.take("lock of a process given back");
    return released;
  }

  /** Rejects where the store cannot notify: a waiter asks again after a while. */
  override wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    return this.store.wakeup?.(claim, signal) ?? Promise.reject(new Error("no wake-ups"));
  }

  /** Rejects where the store cannot notify. */
  override revocation(claim: Claim, signal: AbortSignal): Promise<Meta | void> {
    return this.store.revocation?.(claim, signal) ?? Promise.reject(new Error("no word of evictions"));
  }

  #of(claim: Claim): Handle | undefined {
    return this.#run.handles.of(handleOf(claim));
  }
}
