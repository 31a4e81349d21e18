import type { Attempt, AttemptOptions, Claim, EvictOptions, Renewal } from "../../../src/contract/store.ts";
import { handleOf } from "../../../src/contract/store.ts";
import type { MemoryStore } from "../../../src/stores/memory/store.ts";

/** What one handle id was granted by the server, until it was released or revoked or its lease ended. */
export interface Tenure {
  readonly name: string;
  readonly handle: string;
  /** The number of the process that asked. */
  readonly process: number;
  readonly claim: Claim;
  /** The fences that were reserved with it, in order. */
  readonly blocks: { readonly first: bigint; readonly last: bigint }[];
  readonly grantedAt: number;
  /** The ids of other processes that were in the queue when it was granted. */
  readonly behind: readonly string[];
  /** The ids that an earlier run had taken out of the queue, and that had not attempted again when it was granted. */
  readonly away: ReadonlySet<string>;
  /** Whether its process was told of all that the server has granted it. */
  told: boolean;
  /** Whether its process has asked to release it. */
  releasing: boolean;
  since: number;
  lease: number;
  renewal: number;
  end: "released" | "revoked" | undefined;
  /** When it ended, if not with its lease. */
  endedAt: number;
  /** When its own process was told that it has revoked it: the turn, and the microtask in it. */
  ownRevocation: { readonly turn: number; readonly hop: number } | undefined;
}

/** The lock server: a store in memory, and what it has granted. */
export class Server {
  readonly store: MemoryStore;
  readonly #now: () => number;
  readonly #tenures: Tenure[] = [];
  /** When each handle id was executed first, as a number that rises. */
  readonly #arrivals = new Map<string, number>();
  /** The ids in the queue of each name, and their processes. */
  readonly #queues = new Map<string, Map<string, number>>();
  /** The ids that a run has taken out of a queue, and that have not attempted since. */
  readonly #taken = new Set<string>();
  readonly #granting: (tenure: Tenure, passedOver: readonly string[]) => void;
  #executed = 0;

  /**
   * Makes a server on a clock.
   *
   * @param granting is told of each tenure, and of those who had been in the queue behind the one before of the same
   * process, and still are
   */
  constructor(
    store: MemoryStore,
    now: () => number,
    granting: (tenure: Tenure, passedOver: readonly string[]) => void,
  ) {
    this.store = store;
    this.#now = now;
    this.#granting = granting;
  }

  /** All tenures of a name, in their order. */
  tenures(name: string): readonly Tenure[] {
    return this.#tenures.filter((tenure) => tenure.name === name);
  }

  /** Returns the place of a handle among all that the server has ever put into a queue; `undefined` if it has not. */
  arrival(handle: string): number | undefined {
    return this.#arrivals.get(handle);
  }

  /** Returns whether a tenure goes on. */
  isHeld({ end, since, lease }: Tenure): boolean {
    return end === undefined && this.#now() - since < lease;
  }

  /** Returns whether a tenure went on at some time from then on. */
  wasHeldSince({ end, endedAt, since, lease }: Tenure, time: number): boolean {
    return (end === undefined ? since + lease : endedAt) >= time;
  }

  /** Notes that the process of a handle was told that it was granted the lock, or that this was renewed. */
  told(claim: Claim): void {
    const tenure = this.#heldBy(claim);
    if (tenure !== undefined) tenure.told = true;
  }

  /** Notes that the process of a handle sends a release. */
  releasing(claim: Claim): void {
    const tenure = this.#heldBy(claim);
    if (tenure !== undefined) tenure.releasing = true;
  }

  /** Returns the tenures with which a fence was reserved. */
  withFence(name: string, fence: bigint): Tenure[] {
    return this.#tenures.filter((tenure) =>
      tenure.name === name && tenure.blocks.some(({ first, last }) => first <= fence && fence <= last)
    );
  }

  /**
   * Attempts for a process.
   *
   * @param age how much of the lease has passed when the lock is granted, in milliseconds
   * @param revoked is passed what that revokes
   * @param reply returns the answer that is sent
   */
  async attempt(
    process: number,
    claim: Claim,
    options: AttemptOptions,
    age: number,
    revoked: (tenures: readonly Tenure[]) => void,
    reply: (attempt: Attempt) => Attempt = (attempt) => attempt,
  ): Promise<Attempt> {
    const number = ++this.#executed;
    const asked = age === 0 ? claim : { ...claim, lease: claim.lease - age };
    const attempt = await this.store.attempt(asked, options);
    this.#taken.delete(handleOf(claim));
    const queues = !attempt.granted && options.enqueue && !("conflict" in attempt);
    if ((queues || attempt.granted) && !this.#arrivals.has(handleOf(claim))) {
      this.#arrivals.set(handleOf(claim), number);
    }
    if (queues) this.#queue(claim.name).set(handleOf(claim), process);
    if (attempt.granted) revoked(this.#granted(process, asked, attempt, options.steal === true));
    return reply(attempt.granted && age > 0 ? { ...attempt, age } : attempt);
  }

  async renew(claim: Claim): Promise<Renewal> {
    const outcome = await this.store.renew(claim);
    const tenure = this.#heldBy(claim);
    const { lease, renewal = 0 } = claim;
    if (outcome === "renewed" && tenure !== undefined && renewal >= tenure.renewal) {
      Object.assign(tenure, { since: this.#now(), lease, renewal, told: false });
    }
    return outcome;
  }

  async release(claim: Claim): Promise<boolean> {
    const released = await this.store.release(claim);
    this.#queue(claim.name).delete(handleOf(claim));
    const tenure = this.#heldBy(claim);
    if (tenure !== undefined) Object.assign(tenure, { end: "released", endedAt: this.#now() });
    return released;
  }

  /** Gives the place of a handle in the queue to another one. */
  async succeed(from: Claim, to: Claim): Promise<void> {
    await this.store.succeed(from, to);
    const queue = this.#queue(from.name);
    const process = queue.get(handleOf(from));
    if (process === undefined || queue.has(handleOf(to))) return;
    const places = [...queue].map(([id, process]) => [id === handleOf(from) ? handleOf(to) : id, process] as const);
    this.#queues.set(from.name, new Map(places));
    this.#arrivals.set(handleOf(to), this.#arrivals.get(handleOf(from))!);
  }

  /** Evicts. What that revokes is passed to `revoked`. */
  async evict(
    name: string,
    options: EvictOptions | undefined,
    revoked: (tenures: readonly Tenure[]) => void,
  ): Promise<number> {
    const evicted = await this.store.evict(name, options);
    const isMeant = ({ handle, blocks }: Tenure) =>
      (options?.handle ?? handle) === handle &&
      (options?.fence === undefined || blocks.some(({ first }) => first === options.fence));
    revoked(this.#revoke(name, isMeant));
    return evicted;
  }

  /** Returns whether a handle is in a queue. */
  isQueued(handle: string): boolean {
    return [...this.#queues.values()].some((queue) => queue.has(handle));
  }

  #queue(name: string): Map<string, number> {
    const known = this.#queues.get(name);
    if (known !== undefined) return known;
    const queue = new Map<string, number>();
    this.#queues.set(name, queue);
    return queue;
  }

  #heldBy(claim: Claim): Tenure | undefined {
    return this.#tenures.find((each) =>
      each.name === claim.name && each.handle === handleOf(claim) && this.isHeld(each)
    );
  }

  /** Notes a grant, and returns what it has revoked. */
  #granted(
    process: number,
    claim: Claim,
    granted: Attempt & { granted: true },
    steal: boolean,
  ): readonly Tenure[] {
    const { fence, fences = 1, run = [] } = granted;
    const block = { first: fence, last: fence + BigInt(Math.max(fences - 1, run.length)) };
    const { name, lease, renewal = 0 } = claim;
    const now = this.#now();
    const held = this.#heldBy(claim);
    if (held !== undefined) {
      held.blocks.push(block);
      held.lease = Math.max(lease, held.lease - (now - held.since));
      held.since = now;
      held.told = false;
      held.renewal = Math.max(held.renewal, renewal);
      return [];
    }
    const revoked = steal ? this.#revoke(name) : [];
    const queue = this.#queue(name);
    for (const id of [handleOf(claim), ...run]) queue.delete(id);
    const away = new Set(this.#taken);
    for (const id of run) this.#taken.add(id);
    const before = this.#tenures.findLast((each) => each.name === name && each.process === process);
    const passedOver = before?.behind.filter((id) => queue.has(id)) ?? [];
    const tenure: Tenure = {
      ...{ name, handle: handleOf(claim), process, claim, blocks: [block], grantedAt: now, since: now, lease, renewal },
      behind: [...queue].flatMap(([id, other]) => other === process ? [] : [id]),
      away,
      ...{ told: false, releasing: false, end: undefined, endedAt: now, ownRevocation: undefined },
    };
    this.#tenures.push(tenure);
    this.#granting(tenure, passedOver);
    return revoked;
  }

  #revoke(name: string, isMeant: (tenure: Tenure) => boolean = () => true): readonly Tenure[] {
    const revoked = this.#tenures.filter((tenure) => tenure.name === name && this.isHeld(tenure) && isMeant(tenure));
    for (const tenure of revoked) Object.assign(tenure, { end: "revoked", endedAt: this.#now() });
    return revoked;
  }
}
