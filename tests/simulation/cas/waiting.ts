import { type Attempt, type AttemptOptions, type Claim, handleOf, kindOf } from "../../../src/contract/store.ts";
import { elapsed, type Instant } from "../../../src/time/clock.ts";
import type { DocumentWaiter, LockDocument } from "../../../src/engine/document.ts";
import { excluded, type Holder } from "../../verification/exclusion.ts";
import type { Disturbances } from "../kernel/disturbances.ts";
import type { Machine } from "../kernel/machine.ts";
import type { World } from "../kernel/world.ts";

/** A handle that waits. */
interface Waiter {
  readonly client: Machine;
  /** When it began to sleep, in true time and by the clocks of its machine; `undefined` while it is awake. */
  asleepSince: { readonly at: number; readonly by: Instant } | undefined;
  /** When it last attempted or was woken. */
  activeAt: { readonly at: number; readonly by: Instant };
  attemptedAt: number;
  /** The event in which it was woken for the last time. */
  wokenIn: number;
  /** Since when it is to be woken: it has the turn, or is in the queue no more. */
  dueSince: number | undefined;
  /** Its place in the queue, and since when it has that. */
  ticket: number | undefined;
  queuedAt: number;
  isQueued: boolean;
  /** Whether its process was told that it is in the queue. */
  isTold: boolean;
}

/** A write of a document. */
export interface ChangedDocument {
  readonly client: Machine;
  readonly name: string;
  readonly before: LockDocument;
  readonly after: LockDocument;
  /** When it was sent, and in which event. */
  readonly sentAt: number;
  readonly sentIn: number;
}

/** What waiters are promised. */
export interface Promises {
  /**
   * Within how many milliseconds a sleeping waiter is woken that has the turn or was struck off, where nothing is in
   * the way.
   */
  readonly wake: number;
  /** Whether a sleeping waiter is never struck off while nothing is in the way of its process, nor by that. */
  readonly keepsAsleep: boolean;
  /** Whether a waiter that was struck off comes back with its ticket. */
  readonly keepsPlaces: boolean;
  /**
   * Since when and until when a waiter is kept that has not asked the present store object, where that is started anew.
   */
  readonly kept?: (() => { readonly since: number; readonly until: number }) | undefined;
}

/** For how long a waiter that does not sleep is alive after an attempt, with something to spare, in milliseconds. */
const ALIVE = 1_400;

/** Within how many milliseconds a sleeping waiter looks by itself, with something to spare. */
const LOOKS = 6_500;

/**
 * For how long nothing must have been in the way of a waiter that nobody may strike off: a look, a turn, and some more.
 */
const UNDISTURBED = 8_000;

/**
 * Knows who waits for locks, and judges in which order they are served, when they are woken and who loses its place.
 */
export class Waiting {
  readonly #world: World;
  readonly #disturbances: Disturbances;
  readonly #promises: Promises;
  readonly #violate: (what: string) => void;
  readonly #waiters = new Map<string, Waiter>();
  /** The last tickets of all that have waited: a write of one that gave up may be executed later. */
  readonly #tickets = new Map<string, number>();
  /** Which handle has given its place to another one, by that. */
  readonly #givers = new Map<string, string>();
  /** The handles that take the lock from others. */
  readonly #thieves = new Set<string>();
  /** The longest time until a waiter was woken, in milliseconds. */
  longest = 0;

  constructor(world: World, disturbances: Disturbances, promises: Promises, violate: (what: string) => void) {
    this.#world = world;
    this.#disturbances = disturbances;
    this.#promises = promises;
    this.#violate = violate;
  }

  /** Notes that a handle of a process attempts, and how that ends. */
  async attempt(
    claim: Claim,
    client: Machine,
    { enqueue, steal }: AttemptOptions,
    go: () => Promise<Attempt>,
  ): Promise<Attempt> {
    if (enqueue) this.#attempts(claim, client);
    if (steal) this.#thieves.add(handleOf(claim));
    let attempt: Attempt | undefined;
    try {
      return attempt = await go();
    } finally {
      this.#answered(claim, attempt);
    }
  }

  /** Notes that a handle attempts, and is to wait. */
  #attempts(claim: Claim, client: Machine): void {
    const now = this.#now(client);
    const waiter = this.#waiters.get(handleOf(claim)) ?? {
      client,
      asleepSince: undefined,
      activeAt: now,
      attemptedAt: now.at,
      wokenIn: -1,
      dueSince: undefined,
      ticket: undefined,
      queuedAt: Infinity,
      isQueued: false,
      isTold: false,
    };
    Object.assign(waiter, { activeAt: now, attemptedAt: now.at, dueSince: undefined });
    this.#waiters.set(handleOf(claim), waiter);
  }

  /** Notes how an attempt has ended; it was rejected if there is no answer. */
  #answered(claim: Claim, attempt: Attempt | undefined): void {
    const waiter = this.#waiters.get(handleOf(claim));
    if (waiter === undefined) return;
    waiter.activeAt = this.#now(waiter.client);
    if (attempt === undefined) return;
    if (!("retryAfter" in attempt)) this.#waiters.delete(handleOf(claim));
    else if (waiter.queuedAt < waiter.attemptedAt) waiter.isTold = true;
  }

  /** Notes that a handle gives up, or is served otherwise. */
  leaves(claim: Claim): void {
    this.#waiters.delete(handleOf(claim));
  }

  /** Notes that a handle gives its place to another one. */
  succeeds(from: Claim, to: Claim): void {
    this.#givers.set(handleOf(to), handleOf(from));
    this.leaves(from);
  }

  sleeps(claim: Claim): void {
    const waiter = this.#waiters.get(handleOf(claim));
    if (waiter !== undefined) waiter.asleepSince = this.#now(waiter.client);
  }

  wakes(claim: Claim): void {
    const waiter = this.#waiters.get(handleOf(claim));
    if (waiter === undefined) return;
    this.#checkWoken(handleOf(claim), waiter);
    waiter.asleepSince = undefined;
    waiter.dueSince = undefined;
    waiter.activeAt = this.#now(waiter.client);
    waiter.wokenIn = this.#world.events;
  }

  /** Judges a write that was executed. */
  changed(change: ChangedDocument): void {
    const { name, before, after } = change;
    const queued = new Map(after.queue.map((waiter) => [handleOf(waiter.claim), waiter]));
    const served = new Set([...after.holders.values()].flatMap((holder) => [
      handleOf(holder.claim),
      ...holder.run.map(({ claim }) => handleOf(claim)),
    ]));
    // One write may grant a lock and revoke it.
    for (const handle of after.revoked?.handles ?? []) served.add(handle);
    for (const { claim } of before.queue) {
      const handle = handleOf(claim);
      if (queued.has(handle)) continue;
      const waiter = this.#waiters.get(handle);
      if (waiter === undefined) continue;
      waiter.isQueued = false;
      if (!served.has(handle)) this.#struckOff(handle, waiter, change);
      // It has used its place, although it may not know that.
      else if (after.holders.has(handle)) waiter.isTold = false;
    }
    const former = new Map(before.queue.map(({ claim, ticket }) => [handleOf(claim), ticket]));
    for (const [handle, { ticket }] of queued) {
      const giver = this.#givers.get(handle) ?? "";
      if (former.has(giver) && !queued.has(giver) && !former.has(handle) && former.get(giver) !== ticket) {
        this.#violate(`${this.#label(handle)} is given another place than ${this.#label(giver)} had: ${name}`);
      }
      this.#tickets.set(handle, ticket);
      this.#queued(handle, ticket, name);
    }
    // Members of a run keep their tickets, also if they have never been in the queue.
    for (const { run } of after.holders.values()) {
      for (const { claim, ticket } of run) this.#tickets.set(handleOf(claim), ticket);
    }
    if (after.turn?.number !== before.turn?.number) this.#given(before.turn?.handle, after.turn?.handle);
    this.#checkOrder(change);
  }

  /** Judges those that still sleep. */
  check(): void {
    for (const [handle, waiter] of this.#waiters) this.#checkWoken(handle, waiter);
  }

  #queued(handle: string, ticket: number, name: string): void {
    const waiter = this.#waiters.get(handle);
    if (waiter === undefined || waiter.isQueued) return;
    const { client, isTold } = waiter;
    const isSame = waiter.ticket === ticket;
    if (!isSame && isTold && this.#promises.keepsPlaces) {
      this.#violate(`${this.#label(handle)} of ${client.name} loses its place for ${name}`);
    }
    Object.assign(waiter, { ticket, isQueued: true, queuedAt: this.#world.now, dueSince: undefined });
    if (!isSame) waiter.isTold = false;
  }

  #struckOff(handle: string, waiter: Waiter, { client, name, sentAt, sentIn }: ChangedDocument): void {
    waiter.dueSince = this.#world.now;
    this.#world.trace(client.name, `strikes ${this.#label(handle)} of ${waiter.client.name} off`);
    const { keepsAsleep, kept } = this.#promises;
    const grace = kept?.();
    if (waiter.client.dead) return;
    if (grace !== undefined && sentAt < grace.until && waiter.attemptedAt < grace.since) {
      this.#violate(`${this.#label(handle)} of ${waiter.client.name} is struck off before it could ask again: ${name}`);
    }
    if (!keepsAsleep) return;
    const isOwn = client === waiter.client;
    const disturbed = this.#disturbances.until(waiter.client) + UNDISTURBED;
    const { asleepSince, activeAt } = waiter;
    const isAsleep = asleepSince !== undefined && asleepSince.at < sentAt;
    // By its own clocks, whose process goes by them.
    const isAlive = isAsleep || waiter.wokenIn === sentIn ||
      activeAt.at < sentAt && elapsed(activeAt.by, client.now()) < ALIVE;
    if (isOwn ? isAlive : isAsleep && disturbed < Math.min(asleepSince.at, sentAt)) {
      this.#violate(
        `${this.#label(handle)} of ${waiter.client.name} is struck off by ${client.name}, and lives: ${name}`,
      );
    }
  }

  #given(former: string | undefined, handle: string | undefined): void {
    if (former === handle) return;
    const before = former === undefined ? undefined : this.#waiters.get(former);
    if (before?.isQueued) before.dueSince = undefined;
    const waiter = handle === undefined ? undefined : this.#waiters.get(handle);
    if (waiter !== undefined) waiter.dueSince = this.#world.now;
  }

  #checkWoken(handle: string, { client, asleepSince, dueSince, isQueued }: Waiter): void {
    if (asleepSince === undefined || dueSince === undefined || client.dead) return;
    const since = Math.max(dueSince, asleepSince.at, this.#disturbances.until(client));
    const ms = this.#world.now - since;
    this.longest = Math.max(this.longest, ms);
    // What was in the way may have ended its watch: it then looks by itself.
    const isLate = since < this.#disturbances.until(client) + LOOKS;
    if (ms <= Math.max(this.#promises.wake, isLate ? LOOKS : 0)) return;
    const why = isQueued ? "has the turn" : "was struck off";
    this.#violate(`${this.#label(handle)} of ${client.name} ${why} and sleeps for ${ms.toFixed(0)} ms`);
    this.#waiters.delete(handle);
  }

  /**
   * Checks that nobody is granted the lock who came after a waiter that is still there, unless they may hold it
   * together.
   */
  #checkOrder({ name, before, after }: ChangedDocument): void {
    const tickets = new Map(before.queue.map(({ claim, ticket }) => [handleOf(claim), ticket]));
    const present = Array.from(after.holders.values(), ({ claim }) => holderOf(claim));
    const owners = new Set(Array.from(before.holders.values(), ({ claim }) => holderOf(claim).owner));
    for (const [handle, { claim }] of after.holders) {
      if (before.holders.has(handle) || this.#thieves.has(handle)) continue;
      const { owner } = holderOf(claim);
      // An owner that holds the lock has it again, whoever waits.
      if (owner !== undefined && owners.has(owner)) continue;
      const placeOf = (id: string) => tickets.get(id) ?? this.#tickets.get(id) ?? Infinity;
      // One write may grant the lock to several handles of an owner, of which the first has waited.
      const granted = [...after.holders].filter(([, { claim }]) =>
        owner !== undefined && holderOf(claim).owner === owner
      );
      const together = [handle, ...granted.map(([id]) => id)];
      const place = Math.min(...together.flatMap((id) => [placeOf(id), placeOf(this.#givers.get(id) ?? id)]));
      const isAhead = (waiter: DocumentWaiter) => {
        return waiter.ticket < place && excluded(holderOf(waiter.claim), present).length > 0;
      };
      const passed = after.queue.find((waiter) => tickets.has(handleOf(waiter.claim)) && isAhead(waiter));
      if (passed === undefined) continue;
      this.#violate(`${this.#label(handle)} overtakes ${this.#label(handleOf(passed.claim))}: ${name}`);
    }
  }

  #now(client: Machine) {
    return { at: this.#world.now, by: client.now() };
  }

  #label(handle: string): string {
    return `waiter ${handle.slice(0, 8)}`;
  }
}

/** Returns how a claim holds a lock: its owner, if it is one that was given. */
function holderOf(claim: Claim): Holder {
  return { kind: kindOf(claim), owner: claim.handle === undefined ? undefined : claim.owner };
}
