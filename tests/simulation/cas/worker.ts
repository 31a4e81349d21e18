import { acquireFrom } from "../../../src/lock/acquisition.ts";
import { LockConflictError, LockLostError, LockTimeoutError, StoreError } from "../../../src/contract/errors.ts";
import type { Lock } from "../../../src/lock/lock.ts";
import { checkAcquireOptions } from "../../../src/lock/options.ts";
import type { EvictOptions, Kind, Store } from "../../../src/contract/store.ts";
import type { Invariants } from "../invariants.ts";
import type { Machine } from "../kernel/machine.ts";
import type { Random } from "../kernel/random.ts";
import type { World } from "../kernel/world.ts";
import type { Rest, Scenario } from "./scenario.ts";
import { type DocumentServer, LATE_BECAUSE, STRANGERS } from "./server.ts";
import type { Transitions } from "./transitions.ts";

/**
 * A name that is used while nobody uses another one, and the first in any listing: the store then looks for documents
 * that are not used any more.
 */
const ANOTHER = "A";

/** How often that is used, in milliseconds. */
const TENDED = 3_600_000;

/** How often a worker looks at the listing. */
const LISTS = 0.03;

/** How long it waits for that at the most, in milliseconds. */
const LISTED = 500;

/** Locks that are held for so long are not renewed, in milliseconds: only the store itself tells of a loss then. */
const LONG = 30_000;

/** The kinds of locks, where there are all of them, those who ask several times, and how often one of them asks. */
const KINDS: readonly Kind[] = ["exclusive", "exclusive", "shared", 2, 3];
const OWNERS: readonly string[] = ["x", "y"];
const OWNED = 0.3;

/** How often a name is asked for under which another program has written. */
const STRANGE = 0.05;

/**
 * How many other names are used, how many of them at first, how many at once, and after how long they are forgotten.
 */
const MANY = 2_200;
const SOME = 1_500;
const AT_ONCE = 20;
const FORGOTTEN = 61_000;

/** How long a call goes on at the most once its connection was closed, in milliseconds. */
const CLOSED = 3_000;

/** When a lock is asked for again that was held in another way, in milliseconds. */
const CONFLICTS = 500;

/** What is asked for. */
interface Wish {
  readonly kind: Kind;
  readonly owner?: string | undefined;
}

/** A lock that a worker has, and what is called when it is released. */
interface Holding {
  readonly lock: Lock;
  /** Whether it is renewed. */
  readonly renewed: boolean;
  readonly over: () => void;
}

/** What a worker works on. */
export interface Workplace {
  readonly world: World;
  readonly scenario: Scenario;
  readonly invariants: Invariants;
  readonly transitions: Transitions;
  readonly server: DocumentServer;
  readonly machine: Machine;
  readonly store: Store;
}

/** Acquires locks, holds and releases them, one after the other, as users do. */
export class Worker {
  readonly #place: Workplace;
  readonly #random: Random;
  /** What it does at present. */
  doing = "nothing yet";

  constructor(place: Workplace, random: Random) {
    this.#place = place;
    this.#random = random;
  }

  /** Works until no more faults happen. */
  async run(): Promise<void> {
    const { world, scenario, machine, server } = this.#place;
    const { rest } = scenario;
    while (world.now < scenario.length && server.closedAt(machine) === undefined) {
      if (rest !== undefined && world.now >= rest.from && world.now < rest.until) await this.#rest(rest);
      this.#log("thinking");
      await machine.sleep(this.#random.spread(1, scenario.thinking));
      const { impatient, patience, names } = scenario;
      const wait = this.#random.chance(impatient) ? 0 : this.#random.pick([this.#random.spread(...patience), Infinity]);
      if (this.#random.chance(LISTS)) await this.#query(this.#random.pick(names));
      if (scenario.strangers && this.#random.chance(STRANGE)) await this.#acquireStranger();
      const holding = await this.#acquire(this.#random.pick(names), wait);
      if (holding !== undefined) await this.#hold(holding);
    }
    this.#log("done");
  }

  /** Holds a lock for long, then works as usual. */
  async keep(until: number): Promise<void> {
    const { world, scenario, machine } = this.#place;
    const holding = await this.#acquire(scenario.names[0]!, Infinity, true);
    if (holding !== undefined) {
      await machine.sleep(until - world.now);
      await this.#release(holding);
    }
    await this.run();
  }

  /** Waits for a lock for as long as its process lives. */
  async wait(): Promise<void> {
    const holding = await this.#acquire(this.#place.scenario.names[0]!, Infinity);
    if (holding !== undefined) await this.#release(holding);
  }

  /** Waits for a lock for a while, and releases it. Resolves to whether it was granted. */
  async visit(wait: number): Promise<boolean> {
    const holding = await this.#acquire(this.#place.scenario.names[0]!, wait);
    if (holding !== undefined) await this.#release(holding);
    return holding !== undefined;
  }

  /** Acquires each lock once more: whatever was left behind must have ended. */
  async acquireAll(wait: number): Promise<void> {
    const { scenario: { names }, machine } = this.#place;
    for (const name of names) {
      let holding: Holding | "conflict" | undefined;
      do {
        if (holding === "conflict") await machine.sleep(CONFLICTS);
        holding = await this.#ask(name, wait, { kind: "exclusive" });
      } while (holding === "conflict");
      if (holding !== undefined) await this.#release(holding);
      else this.#place.invariants.violate(`${name} is not free although nothing fails any more`);
    }
    this.#log("done");
  }

  /** Uses thousands of names, each for a moment, and some more when most of those are long forgotten. */
  async useMany(): Promise<void> {
    const { machine, world, scenario, server } = this.#place;
    for (let i = 0; i < MANY; i += AT_ONCE) {
      if (i === SOME) await machine.sleep(FORGOTTEN);
      if (world.now >= scenario.length || server.closedAt(machine) !== undefined) return;
      await Promise.all(Array.from({ length: AT_ONCE }, (_, j) => this.#useOnce(`m${i + j}`)));
    }
  }

  async #useOnce(name: string): Promise<void> {
    const holding = await this.#acquire(name, 0);
    if (holding !== undefined) await this.#release(holding);
  }

  /** Asks for a lock that is no lock: nobody may have it, or write there. */
  async #acquireStranger(): Promise<void> {
    const name = this.#random.pick(Object.keys(STRANGERS));
    const holding = await this.#acquire(name, 0);
    if (holding !== undefined) this.#place.invariants.violate(`${name} is granted, which is no document`);
  }

  async #rest({ until, sweeps }: Rest): Promise<void> {
    const { world, machine } = this.#place;
    this.#log("resting");
    while (sweeps === "always" && world.now < until - TENDED) {
      await machine.sleep(TENDED);
      await this.#useAnother();
    }
    // By true time, which the clocks leave behind in days.
    await new Promise<void>((resolve) => void world.at(until, () => machine.deliver(resolve)));
    if (sweeps !== "never" && this.#random.chance(0.5)) await this.#useAnother();
  }

  async #useAnother(): Promise<void> {
    const holding = await this.#acquire(ANOTHER, 0);
    if (holding !== undefined) await this.#release(holding);
  }

  /** Lists a lock, or all locks: what this process holds during all of it must be there, and waiters in their order. */
  async #query(name: string): Promise<void> {
    const { store, scenario, invariants, machine } = this.#place;
    const mine = () => invariants.heldOn(machine).filter((lock) => lock.name === name).map(({ fence }) => fence);
    const before = mine();
    this.#log(`listing ${name}`);
    const asked = this.#random.pick([{ name }, {}, { limit: 1 }, ...scenario.kinds ? [{ match: `${name}*` }] : []]);
    // A request that is lost is never answered.
    const over = machine.sleep(LISTED);
    const listed = await Promise.race([over, store.query?.(asked).catch((error) => this.#queryFailed(error))]);
    // A listing goes by one clock, which may be wrong.
    const { second, sets, quality: { old, leaps } } = scenario;
    const isSteady = second === undefined && sets === "none" && leaps === 0 && old === 0;
    if (!listed || !isSteady || "limit" in asked) return;
    const held = listed.held.filter((entry) => entry.name === name);
    const after = mine();
    for (const fence of before.filter((fence) => after.includes(fence))) {
      // Those that a grant took along are listed under that.
      const isListed = held.some((entry) => scenario.handsOn ? entry.fence! <= fence : entry.fence === fence);
      if (!isListed) invariants.violate(`${machine.name} holds ${name} with fence ${fence}, which is not listed`);
    }
    const ranks = listed.pending.filter((entry) => entry.name === name).map(({ rank }) => rank);
    if (ranks.some((rank, i) => rank !== i)) invariants.violate(`the waiters for ${name} are listed as ${ranks}`);
    if (held.some(({ expiresIn }) => expiresIn! <= 0)) invariants.violate(`a lease of ${name} is listed that is over`);
  }

  /** Takes a lock away from whoever holds it, or from one that is listed. */
  async #evict(name: string): Promise<void> {
    const { store, scenario, invariants } = this.#place;
    this.#log(`evicting ${name}`);
    try {
      await store.evict?.(name, scenario.kinds ? await this.#someHolder(name) : undefined);
    } catch (error) {
      this.#log(`evict: ${error}`);
      if (!scenario.faults && !(name in STRANGERS)) invariants.violate(`no fault, but ${error}`);
    }
  }

  #queryFailed(error: unknown): void {
    const { scenario: { faults }, invariants } = this.#place;
    this.#log(`query: ${error}`);
    if (!faults) invariants.violate(`no fault, but ${error}`);
  }

  /** Names a holder by its fence, which all handles of an owner have, or all holders. */
  async #someHolder(name: string): Promise<EvictOptions | undefined> {
    const over = this.#place.machine.sleep(LISTED);
    const listed = await Promise.race([over, this.#place.store.query?.({ name })]);
    const fence = listed?.held.find((entry) => entry.name === name)?.fence;
    return fence === undefined || this.#random.chance(0.3) ? undefined : { fence };
  }

  async #acquire(name: string, wait: number, renew?: boolean): Promise<Holding | undefined> {
    const holding = await this.#ask(name, wait, this.#wish(), renew);
    return holding === "conflict" ? undefined : holding;
  }

  /** By default the description differs from one process that simulates to the other, and so does its length. */
  #meta(): false | Record<string, string> {
    const { described } = this.#place.scenario;
    return described > 0 && { note: "x".repeat(described) };
  }

  #wish(): Wish {
    const { kinds, shared } = this.#place.scenario;
    if (!kinds) return { kind: this.#random.chance(shared) ? "shared" : "exclusive" };
    return {
      kind: this.#random.pick(KINDS),
      owner: this.#random.chance(OWNED) ? this.#random.pick(OWNERS) : undefined,
    };
  }

  async #ask(
    name: string,
    wait: number,
    { kind, owner }: Wish,
    renew = this.#random.pick([true, true, false]) && this.#place.scenario.longestHold < LONG,
  ): Promise<Holding | "conflict" | undefined> {
    const { scenario, invariants, machine, store } = this.#place;
    const lease = Math.ceil(this.#random.between(...scenario.leases));
    const mode = kind === "shared" ? "shared" as const : "exclusive" as const;
    const permits = typeof kind === "number" ? kind : undefined;
    const isRevoker = this.#random.chance(scenario.revokes);
    const steal = isRevoker && kind === "exclusive" && owner === undefined && wait === 0;
    if (isRevoker && !steal) await this.#evict(name);
    const how = permits === undefined ? { mode } : { permits };
    const settings = checkAcquireOptions({
      ...how,
      ...owner !== undefined && { owner },
      wait,
      lease,
      renew,
      meta: this.#meta(),
      ...steal && { steal },
    });
    const whose = owner === undefined ? "" : ` of ${owner}`;
    this.#log(`acquiring ${name} (${kind}${whose}), lease ${lease} ms, wait ${wait.toFixed(0)} ms`);
    const call = invariants.called(name, machine);
    const began = machine.now().monotonic;
    const { pauses } = machine;
    try {
      const lock = await acquireFrom(store, name, settings, machine);
      this.#log(lock === null ? `${name} is busy` : `got ${name}, fence ${lock.fence}`);
      return lock === null ? undefined : { lock, renewed: renew, over: invariants.got(call, lock, 1, { kind, owner }) };
    } catch (error) {
      this.#log(`rejected: ${error}`);
      this.#checkClosed(call.calledAt, pauses);
      if (error instanceof LockConflictError && scenario.kinds) return "conflict";
      if (!(error instanceof LockTimeoutError || error instanceof StoreError)) {
        invariants.violate(`acquire failed with ${(error as Error).stack}`);
      }
      // An attempt that others outpace ends sooner, and so does one of which no request is answered.
      if (String(error).includes("the store did not answer within") && pauses === machine.pauses) {
        invariants.violate(`an attempt of ${machine.name} is not answered: ${error}`);
      }
      if (
        scenario.closes && /no answer to a (read|write)/.test(String(error)) && !String(error).includes(LATE_BECAUSE)
      ) {
        invariants.violate(`the reason for late requests is missing: ${error}`);
      }
      if (String(error).includes("waiters are in its document")) this.#place.transitions.take("no room for a waiter");
      // A call whose write was refused pauses, perhaps for longer than a short wait.
      const unanswered = machine.now().monotonic - began >= wait || name in STRANGERS;
      if (!scenario.faults && error instanceof StoreError && !unanswered) invariants.violate(`no fault, but ${error}`);
      return undefined;
    }
  }

  async #hold(holding: Holding): Promise<void> {
    const { scenario, machine } = this.#place;
    const { lock } = holding;
    const longest = Math.min(scenario.holding * lock.remaining(), scenario.longestHold);
    await machine.sleep(
      this.#random.spread(1, Math.max(2, longest)),
      this.#random.chance(0.5) ? lock.signal : undefined,
    );
    await this.#release(holding);
  }

  async #release({ lock, renewed, over }: Holding): Promise<void> {
    const { machine, invariants, scenario } = this.#place;
    if (machine.dead) return;
    this.#log(`releasing ${lock.name}`);
    const released = lock.release();
    over();
    try {
      await released;
    } catch (error) {
      this.#log(`release: ${error}`);
      const expected = error instanceof LockLostError || error instanceof StoreError;
      if (!expected) invariants.violate(`release failed with ${(error as Error).stack}`);
      const lost = error instanceof LockLostError && renewed && scenario.revokes === 0;
      if (!scenario.faults && (lost || error instanceof StoreError)) invariants.violate(`no fault, but ${error}`);
    }
  }

  /** Checks that a call which has failed did not go on for long once its connection was closed. */
  #checkClosed(calledAt: number, pauses: number): void {
    const { server, machine, world, invariants } = this.#place;
    const closedAt = server.closedAt(machine);
    if (closedAt === undefined || pauses < machine.pauses) return;
    const ms = world.now - Math.max(closedAt, calledAt);
    if (ms > CLOSED) invariants.violate(`${machine.name} waits ${ms.toFixed(0)} ms after its connection was closed`);
  }

  #log(what: string): void {
    this.doing = what;
    this.#place.world.trace(this.#place.machine.name, what);
  }
}
