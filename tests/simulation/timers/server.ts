import type { Machine } from "../kernel/machine.ts";
import { USUAL } from "../kernel/messages.ts";
import type { Random } from "../kernel/random.ts";
import type { World } from "../kernel/world.ts";

/** What runs timers: keys under leases, as on etcd, or moments of the leader's clock, as on ZooKeeper. */
export type Kind = "keys" | "stamps";

/** The name of a timer. */
export type Timer = { readonly key: number } | { readonly epoch: number; readonly time: number; readonly ms: number };

export interface Holder {
  readonly id: string;
  /** Another one after each grant and renewal. */
  readonly beat: number;
  /** When the lease ends by the clock of the holder. */
  readonly end: number;
  readonly timer: Timer | undefined;
}

export interface Document {
  readonly version: number;
  readonly holder: Holder | undefined;
}

/** How many milliseconds a clock counts too many or too few in a true second, at the most. */
export const WRONG = 4.5;

/** What goes wrong in a run. */
export interface Faults {
  /** Whether requests are late, lost, executed twice and not answered. */
  readonly network: boolean;
  /** Whether leaders change, and one that is stuck ends what it takes for over. */
  readonly leaders: boolean;
  /** Whether it takes long to start a timer. */
  readonly slowStarts: boolean;
  /** How wrong the clock of the server is; drawn when left out. */
  readonly wrong?: number;
}

/**
 * How long a message takes that is late, and how long it takes to start a timer where that is slow, in milliseconds.
 */
const LATE = [200, 5_000] as const;
const SLOW = [0, 7_000] as const;

/** For how long a client waits for an answer, in milliseconds. */
const ANSWER_MS = 1_000;

/**
 * How often leaders change, how much later a key is removed than its lease ends, and how far clocks of leaders are
 * apart.
 */
const LEADS = [3_000, 20_000] as const;
const REMOVED = [0.1, 400] as const;
const APART_MS = 20_000;

/** How many earlier states an answer may show that is not asked of a majority. */
const STATES = 8;

interface Key {
  end: number;
  readonly ms: number;
  /** When an old leader takes it for over, which has not heard that it was prolonged. */
  oldEnd: number;
}

/** A server that replaces a document if its version is the one that was read, and runs timers. */
export class TimerServer {
  document: Document = { version: 0, holder: undefined };
  readonly #world: World;
  readonly #random: Random;
  readonly #kind: Kind;
  readonly #faults: Faults;
  readonly #rate: number;
  readonly #keys = new Map<number, Key>();
  readonly #states: Set<number>[] = [];
  #count = 0;
  #epoch = 1;
  #ahead = 0;
  /** The first moment of the epoch that is known. */
  #first: number | undefined;

  constructor(world: World, random: Random, kind: Kind, faults: Faults) {
    this.#world = world;
    this.#random = random;
    this.#kind = kind;
    this.#faults = faults;
    this.#rate = 1 + (faults.wrong ?? random.between(-WRONG, WRONG)) / 1_000;
    if (faults.leaders) this.#change();
  }

  get #time(): number {
    return this.#world.now * this.#rate;
  }

  start(ms: number): Timer {
    if (this.#kind === "stamps") return { epoch: this.#epoch, time: this.#now(), ms };
    this.#states.push(new Set(this.#keys.keys()));
    if (this.#states.length > STATES) this.#states.shift();
    const end = this.#time + ms;
    const key = ++this.#count;
    this.#keys.set(key, { end, ms, oldEnd: Infinity });
    return { key };
  }

  /** Prolongs a timer. Returns whether it was, as far as the member knows that answers. */
  prolong(timer: Timer): boolean {
    const key = "key" in timer ? this.#keys.get(timer.key) : undefined;
    if (key === undefined) return false;
    key.end = this.#time + key.ms;
    return true;
  }

  /** Returns whether a timer is over; `old`: as an earlier state shows that, by one epoch: as if all had one clock. */
  isOver(timer: Timer, { old = false, oneClock = false } = {}): boolean {
    if ("key" in timer) {
      if (old && this.#states.length > 0) return !this.#random.pick(this.#states).has(timer.key);
      const key = this.#keys.get(timer.key);
      if (key !== undefined && this.#time >= Math.min(key.end, key.oldEnd) + this.#random.spread(...REMOVED)) {
        this.#keys.delete(timer.key);
      }
      return !this.#keys.has(timer.key);
    }
    const now = this.#now();
    return now - (timer.epoch === this.#epoch || oneClock ? timer.time : this.#first!) >= timer.ms;
  }

  write(version: number, holder: Holder | undefined): boolean {
    if (version !== this.document.version) return false;
    this.document = { version: version + 1, holder };
    return true;
  }

  /**
   * Sends a request, which is executed once, twice or never. Resolves to the answer; to `undefined` if there is none.
   */
  call<T>(client: Machine, work: () => T, isStart = false): Promise<T | undefined> {
    const { network, slowStarts } = this.#faults;
    const random = this.#random;
    const chance = (share: number) => network && random.chance(share);
    const delay = () => chance(0.06) ? random.spread(...LATE) : random.between(...USUAL);
    return new Promise((resolve) => {
      const slow = isStart && slowStarts ? random.between(...SLOW) : 0;
      const late = client.timer(ANSWER_MS + slow, () => resolve(undefined));
      for (let copies = chance(0.03) ? 2 : 1; copies > 0; copies--) {
        if (chance(0.02)) continue;
        this.#world.after(delay() + slow, () => {
          const value = work();
          if (chance(0.03)) return;
          this.#world.after(delay(), () =>
            client.deliver(() => {
              late.cancel();
              resolve(value);
            }));
        });
      }
    });
  }

  #now(): number {
    const now = this.#time + this.#ahead;
    this.#first ??= now;
    return now;
  }

  #change(): void {
    this.#world.after(this.#random.spread(...LEADS), () => {
      const isStuck = this.#random.chance(0.5);
      for (const key of this.#keys.values()) {
        // A new leader gives each lease its whole length again; a stuck one goes by what it knew.
        if (isStuck) key.oldEnd = Math.min(key.oldEnd, key.end);
        else key.end = this.#time + key.ms;
      }
      this.#epoch++;
      this.#ahead += this.#random.between(-APART_MS, APART_MS);
      this.#first = undefined;
      this.#change();
    });
  }
}
