import {
  type Attempt,
  type AttemptOptions,
  type Capability,
  type Claim,
  type Granted,
  handleOf,
  type Meta,
  type Renewal,
  type Store,
} from "../../src/store.ts";
import { currentHandle, type Handle } from "./handles.ts";
import type { Run } from "./run.ts";

/** By the fastest clock the store keeps a lock for this part of its lease, at the least. */
const AT_LEAST = 0.85;

/** A store that grants runs, as what hands them on uses it: notes which handle has the lock under the id of another. */
export class ObservedRuns implements Store {
  readonly #store: Store;
  readonly #run: Run;
  readonly capabilities: readonly Capability[] | undefined;
  readonly drift: (lease: number) => number;

  constructor(store: Store, run: Run) {
    this.#store = store;
    this.#run = run;
    this.capabilities = store.capabilities;
    this.drift = (lease) => store.drift(lease);
  }

  get closed(): boolean {
    return this.#store.closed === true;
  }

  async attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const handle = this.#of(claim);
    const { world, transitions } = this.#run;
    if (handle?.head !== undefined) {
      transitions.take("member of a run attempted again");
      handle.head = undefined;
      // Its former place is that of a member: others may have been served meanwhile.
      handle.queued.clear();
    }
    const sentAt = world.now;
    const attempt = await this.#store.attempt(claim, options);
    if (attempt.granted && handle !== undefined) this.#granted(handle, attempt, sentAt + claim.lease * AT_LEAST);
    return attempt;
  }

  #granted(handle: Handle, { run = [] }: Granted, until: number): void {
    const { handles, transitions } = this.#run;
    if (run.length > 0) transitions.take("run granted");
    handle.head = undefined;
    const members = run.map((id) => handles.of(id)).filter((member) => member !== undefined);
    for (const member of members) member.head = handle;
    handle.run = { members, until };
  }

  async renew(claim: Claim): Promise<Renewal> {
    const { run } = this.#of(claim) ?? {};
    const asking = currentHandle();
    const handsOn = asking !== undefined && asking.grantedAt === undefined && asking.head !== undefined;
    const until = this.#run.world.now + claim.lease * AT_LEAST;
    // A shorter lease may count from now on.
    if (run !== undefined) run.until = Math.min(run.until, until);
    try {
      const renewal = await this.#store.renew(claim);
      if (run !== undefined) run.until = renewal === "lost" ? -Infinity : until;
      if (handsOn && renewal === "lost") this.#run.transitions.take("run found lost as it was to be handed on");
      return renewal;
    } catch (error) {
      if (handsOn) this.#run.transitions.take("renewal failed as a run was to be handed on");
      throw error;
    }
  }

  release(claim: Claim): Promise<boolean> {
    if (this.#of(claim)?.head !== undefined) this.#run.transitions.take("place in the queue of a member removed");
    return this.#store.release(claim);
  }

  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    return this.#store.wakeup!(claim, signal);
  }

  revocation(claim: Claim, signal: AbortSignal): Promise<Meta | void> {
    return this.#store.revocation!(claim, signal);
  }

  forget(claim: Claim): void {
    this.#store.forget?.(claim);
  }

  #of(claim: Claim): Handle | undefined {
    return this.#run.handles.of(handleOf(claim));
  }
}
