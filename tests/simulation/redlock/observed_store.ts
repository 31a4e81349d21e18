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
} from "../../../src/contract/store.ts";
import type { LockEvent } from "../../../src/contract/events.ts";
import { type Handle, runFor } from "./handles.ts";
import type { Random } from "../kernel/random.ts";
import type { Run } from "./run.ts";
import { FENCES_AHEAD } from "./scenario.ts";

/** How often a renewal crosses a release. */
const STRAY = 0.1;

/** A store as one handle uses it: notes what the store has to remember of that. */
export class ObservedStore implements Store {
  readonly #store: Store;
  readonly #handle: Handle;
  readonly #run: Run;
  readonly #random: Random;
  #failing = false;
  /** Whether its release has been answered: the store has nothing to remember any more. */
  #released = false;
  readonly capabilities: readonly Capability[] | undefined;

  constructor(store: Store, handle: Handle, run: Run, random: Random) {
    this.#store = store;
    this.#handle = handle;
    this.#run = run;
    this.#random = random;
    this.capabilities = store.capabilities;
  }

  /** Counts what happens to a lease. */
  readonly observer = (event: LockEvent): void => {
    const { transitions } = this.#run;
    if (event.type === "fault" && event.operation === "renew") {
      this.#failing = true;
      transitions.take("lease kept although a renewal failed");
    }
    if (event.type === "fault" && String(event.error).includes("took longer than the lease")) {
      transitions.take("grant too late for its lease");
    }
    if (event.type === "renewed" && this.#failing) {
      this.#failing = false;
      transitions.take("lease renewed after a renewal failed");
    }
  };

  readonly drift = (lease: number): number => this.#store.drift(lease);

  get closed(): boolean {
    return this.#store.closed === true;
  }

  async attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const handle = this.#handle;
    this.#run.handles.name(handleOf(claim), handle);
    this.#run.watch.know(handle, true);
    try {
      const asked = handle.wish > 1 ? { ...claim, fences: handle.wish } : claim;
      const { events } = this.#run.world;
      const attempt = await runFor(handle, () => this.#store.attempt(asked, options));
      if (attempt.granted) {
        this.#noteRun(attempt, events === this.#run.world.events);
        handle.fences.set(attempt.fence, attempt.fences ?? 1);
        if (this.#run.scenario.handsOn) this.#checkGrant(attempt.fence);
        else checkFences(this.#run, handle, attempt, handle.wish);
      }
      this.#run.watch.know(handle, attempt.granted || options.enqueue);
      if (!attempt.granted) this.#run.watch.busy(handle);
      return attempt;
    } catch (error) {
      this.#run.watch.know(handle, false);
      throw error;
    }
  }

  /** Checks that the store has granted the fence to this process, and notes to which handle. */
  #checkGrant(fence: bigint): void {
    const handle = this.#handle;
    const granted = this.#run.handles.granted(handle.name, fence);
    handle.head = granted === handle ? undefined : granted;
    if (granted?.client === handle.client) return;
    this.#run.invariants.violate(
      `${handle.client.name} gets fence ${fence} of ${handle.name}, which it was not granted`,
    );
  }

  /** Counts a grant to a member of a run, which is made at once or after a renewal. */
  #noteRun({ fence }: Granted, atOnce: boolean): void {
    const { head, run, fences, mode, firstAskedAt } = this.#handle;
    const { transitions, scenario } = this.#run;
    if (fences.has(fence) && (head ?? run) !== undefined) return;
    if (scenario.cohort !== undefined) {
      if (atOnce && mode === "exclusive" && firstAskedAt.size === 0) transitions.take("lock of a process handed on");
      return;
    }
    if (head !== undefined) transitions.take(atOnce ? "run handed on at once" : "run handed on after a renewal");
  }

  async release(claim: Claim): Promise<boolean> {
    const stray = this.#random.chance(STRAY) ? this.#random.pick(["before", "after"] as const) : undefined;
    if (stray === "before") this.#renewMeanwhile(claim, false);
    const releasing = runFor(this.#handle, () => this.#store.release(claim));
    // Otherwise the lock may be handed on, and given back later.
    if (!this.#run.scenario.handsOn) checkReleased(this.#run, this.#handle);
    // Of a single server nobody knows which of the two it does first.
    if (stray === "after") this.#renewMeanwhile(claim, !this.#run.scenario.single);
    const released = await releasing;
    this.#released = true;
    this.#run.watch.know(this.#handle, false);
    return released;
  }

  /** Checks that a renewal that crosses the release does not restore what that frees. */
  #renewMeanwhile(claim: Claim, after: boolean): void {
    if (this.#handle.grantedAt === undefined) return;
    this.renew(claim).then((renewal) => {
      if (after && renewal === "renewed") this.#run.invariants.violate(`${claim.name} was renewed after its release`);
    }, () => {});
  }

  renew(claim: Claim): Promise<Renewal> {
    return runFor(this.#handle, () => this.#store.renew(claim));
  }

  /** Rejects where the store cannot notify: a waiter asks again after a while. */
  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    const woken = runFor(this.#handle, () => this.#store.wakeup?.(claim, signal));
    return woken ?? Promise.reject(new Error("no wake-ups"));
  }

  /** Rejects where the store cannot notify. */
  revocation(claim: Claim, signal: AbortSignal): Promise<Meta | void> {
    const evicted = runFor(this.#handle, () => this.#store.revocation?.(claim, signal));
    return evicted ?? Promise.reject(new Error("no word of evictions"));
  }
}

/** Checks that a release was sent to every node that still has the lock of a handle, as far as that is known. */
export function checkReleased({ scenario, dealings, invariants, world }: Run, handle: Handle): void {
  const { client, name, votes, forgiven } = handle;
  if (!scenario.exclusion || scenario.wipes !== "none" || forgiven) return;
  for (const [node, id] of votes) {
    if (dealings.of(node, id).until <= world.now) continue;
    invariants.violate(`${client.name} releases ${name}, but not on ${node.machine.name}, which still has it`);
  }
}

/** Checks that a block has no more fences than were wished for, and is no further ahead of the clock than allowed. */
export function checkFences(
  { invariants, scenario }: Run,
  { client, name }: Handle,
  { fence, fences = 1 }: Granted,
  wish: number,
): void {
  if (!(fences >= 1 && fences <= wish)) {
    invariants.violate(`${client.name} gets ${fences} fences of ${name} and has asked for ${wish}`);
  }
  // A single server has a clock of its own.
  if (fences === 1 || scenario.single || scenario.clockSet !== "none") return;
  const ahead = Number(fence) + fences - 1 - client.now().wall * 1_000;
  if (ahead > FENCES_AHEAD * 1_000) {
    invariants.violate(`${client.name} gets fences of ${name} that end ${ahead.toFixed(0)} µs ahead of its clock`);
  }
}
