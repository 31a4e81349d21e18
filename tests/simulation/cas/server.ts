import type {
  Backend,
  FoundDocument,
  KeyVersion,
  ListedDocuments,
  WatchedDocument,
  WatchOptions,
  WriteOptions,
  WriteResult,
} from "../../../src/engine/mod.ts";
import { StoreError } from "../../../src/contract/errors.ts";
import type { Disturbances } from "../kernel/disturbances.ts";
import { parseDocument } from "../../../src/engine/document.ts";
import { TURN_MS } from "../../../src/engine/period.ts";
import { POSITION } from "../../../src/engine/sweeper.ts";
import { SimulatedTimers } from "./timers.ts";
import type { Transitions } from "./transitions.ts";
import type { ChangedDocument } from "./waiting.ts";
import type { Machine } from "../kernel/machine.ts";
import { delayed, NOTICED, type Quality as MessageQuality, USUAL } from "../kernel/messages.ts";
import type { Random } from "../kernel/random.ts";
import type { World } from "../kernel/world.ts";

/** How bad the way to the server is. */
export interface Quality extends MessageQuality {
  /** How often a request is sent again, unseen, because its connection is closed before the reply, which is lost. */
  readonly repeated: number;
  /** How often a read gives what was there before one of the last writes. */
  readonly old: number;
  /** How often a watch misses what has changed, and fails or never ends. */
  readonly missed: number;
  /**
   * How often a clock is wrong at the moment of a reply to a read: the server's in what it tells, or that of the
   * client.
   */
  readonly leaps: number;
}

/** A way on which nothing goes wrong. */
export const FAULTLESS: Quality = {
  lost: 0,
  doubled: 0,
  repeated: 0,
  delayed: 0,
  longest: 0,
  old: 0,
  missed: 0,
  leaps: 0,
};

/** What a server does otherwise than it must, to see whether that is noticed. */
export interface ServerFlaws {
  /** Versions are numbers of a short row, which begins anew. */
  readonly repeatsVersions?: boolean;
  /** The time in a reply is another one. */
  readonly otherTime?: ((time: number) => number) | undefined;
  /** It does not say that several machines decide. */
  readonly hidesMachines?: boolean;
  /** By which factor its timers run shorter than they must. */
  readonly timersRun?: number;
}

/** What a server can do. */
export interface Abilities {
  /** Whether replies have its clock. */
  readonly clock: boolean;
  /** Whether it tells its clock in the reply to a write that it has executed, too. */
  readonly timedWrites: boolean;
  /**
   * How far the clock of a second machine is ahead of that, which decides on every other write; `undefined` if none
   * does.
   */
  readonly second: number | undefined;
  /** Whether it has timers. */
  readonly timers: boolean;
  /** Whether clients may watch, and whether they are told of news alone. */
  readonly watch: boolean;
  readonly news: boolean;
  /** How many documents a page of a listing has. */
  readonly page: number;
  /** The largest document, in bytes. */
  readonly maxBytes: number | undefined;
  /** Whether another program writes among the documents. */
  readonly strangers?: boolean;
  /** Whether it lists documents. */
  readonly lists?: boolean;
  /** Whether its clients know that their connection was closed, and why requests are late. */
  readonly closes?: boolean;
}

/** What surrounds a server. */
export interface Circumstances {
  readonly quality: Quality;
  readonly disturbances: Disturbances;
  readonly abilities: Abilities;
  readonly flaws: ServerFlaws;
  readonly transitions: Transitions;
  /** Gets each document that was changed. */
  readonly changed: (change: ChangedDocument) => void;
  /** Notes something that must not happen. */
  readonly violate: (what: string) => void;
}

/** What is kept under a key. */
interface Kept {
  readonly value: string | undefined;
  readonly version: number;
  /** When it was written, in true time. */
  readonly at: number;
}

/** Why requests are late. */
export const LATE_BECAUSE = "the simulated network is slow";

/**
 * What another program has written: under the first of these names no document, and under the second one of a later
 * version.
 */
export const STRANGERS: Readonly<Record<string, string>> = {
  "B": "not a document",
  "z": JSON.stringify({ holdfast: 99 }),
};

/** What it has written where the next page begins. */
const NO_CURSOR = "!";

const ABSENT: Kept = { value: undefined, version: 0, at: 0 };

/**
 * By how much a clock is wrong that leaps, in milliseconds: always forward, as leases end early or late by that alone.
 */
const LEAP = [100, 40_000] as const;

/** By how much the clock of a client is set wrong: by less it may be apart from others all the time. */
const CLIENT_LEAP = [1_100, 40_000] as const;

/** A document that was written less than so many milliseconds ago is in use: 7 days, but for what clocks are set by. */
const IN_USE = 6 * 24 * 3_600_000;

/** How often a client notices that its request was lost. */
const NOTICES = 0.5;

/** How often a client notices that a watch of its has missed something. */
const FAILS = 0.5;

/** An old read is older than so many writes at the most. */
const OLD = 5;

/** A client takes no answer to a write after so many milliseconds. */
const UNANSWERED = 2_000;

/** A server that keeps documents, and compares versions. Its clients reach it over a bad network. */
export class DocumentServer {
  readonly machine: Machine;
  readonly #world: World;
  readonly #random: Random;
  readonly #in: Circumstances;
  readonly #timers: SimulatedTimers;
  readonly #has: Abilities;
  #quality: Quality;
  #version = 0;
  readonly #kept = new Map<string, Kept>();
  /** What was there before the last writes. */
  readonly #before = new Map<string, Kept[]>();
  readonly #watchers = new Map<string, Set<(heir?: string) => void>>();
  readonly #cutUntil = new Map<Machine, number>();
  /** How long the next write of a client is on its way, in milliseconds. */
  readonly #heldUp = new Map<Machine, number>();
  /** The watches that are open, of each client. */
  readonly #open = new Map<Machine, string[]>();
  /** Until when another one writes before each write of a client. */
  readonly #outpacedUntil = new Map<Machine, number>();
  /** What is to be called when a client closes its connection, and the clients that have. */
  readonly #ends = new Map<Machine, Set<() => void>>();
  readonly #closedAt = new Map<Machine, number>();
  /** When each client has read a page of the listing. */
  readonly #listed = new Map<Machine, number[]>();

  constructor(world: World, machine: Machine, random: Random, circumstances: Circumstances) {
    this.#world = world;
    this.machine = machine;
    this.#random = random;
    this.#quality = circumstances.quality;
    this.#in = circumstances;
    this.#has = circumstances.abilities;
    this.#timers = new SimulatedTimers(machine, random, circumstances.flaws.timersRun ?? 1);
    if (!this.#has.strangers) return;
    for (const [key, value] of Object.entries({ ...STRANGERS, [POSITION]: NO_CURSOR })) {
      this.#kept.set(key, { value, version: this.#nextVersion(), at: 0 });
    }
  }

  /** Returns what a client asks it through. */
  connect(client: Machine): Backend<number> {
    const isClosed = () => this.#has.closes ? this.#closedAt.has(client) : undefined;
    return {
      ...this.#has.closes && { onClosed: (run: () => void) => this.#onClosed(client, run), lateBecause: LATE_BECAUSE },
      get closed() {
        return isClosed();
      },
      read: (key) => this.#call(client, `read ${key}`, () => this.#read(key), undefined, this.#leap(client)),
      write: (key, value, version, options) => {
        const [sentAt, sentIn] = [this.#world.now, this.#world.events];
        return this.#call(client, `write ${key} over ${version}`, () => {
          if (this.#world.now - sentAt > UNANSWERED) this.#in.transitions.take("executed late");
          return this.#write(client, { key, value, version, sentAt, sentIn }, options);
        }, this.#takeHeldUp(client));
      },
      remove: (documents) => {
        const what = documents.map(({ key, version }) => `${key} at ${version}`).join();
        return this.#call(client, `remove ${what}`, () => this.#remove(documents));
      },
      ...this.#has.lists !== false && { list: (_: number, cursor?: string) => this.#listFrom(client, cursor) },
      ...this.#has.watch
        ? {
          watch: (key: string, version: number, signal: AbortSignal, options: WatchOptions) => {
            return this.#watch(client, key, version, signal, options);
          },
        }
        : {},
      ...this.#has.timers && { timers: this.#timers.connect((what, work) => this.#call(client, what, work)) },
      maxBytes: this.#has.maxBytes,
      severalClocks: this.#has.second !== undefined && !this.#in.flaws.hidesMachines,
    };
  }

  /** Has others write before each write of a client for a while: the same text, with another version. */
  outpace(client: Machine, ms: number): void {
    this.#world.trace(client.name, `is outpaced for ${ms.toFixed(0)} ms`);
    this.#in.disturbances.note(this.#world.now + ms);
    this.#outpacedUntil.set(client, this.#world.now + ms);
  }

  /** Closes the connection of a client for good: nothing is sent any more, and what is not answered fails. */
  close(client: Machine): void {
    if (this.isGone(client) || !client.awake) return;
    this.#world.trace(client.name, "closes its connection");
    this.#closedAt.set(client, this.#world.now);
    this.#in.disturbances.note(this.#world.now);
    client.deliver(() => {
      for (const run of this.#ends.get(client) ?? []) run();
    });
  }

  /** When a client has closed its connection. */
  closedAt(client: Machine): number | undefined {
    return this.#closedAt.get(client);
  }

  /** Returns whether a client is dead, or has closed its connection. */
  isGone(client: Machine): boolean {
    return client.dead || this.#closedAt.has(client);
  }

  #onClosed(client: Machine, run: () => void): () => void {
    const ends = this.#ends.get(client) ?? new Set();
    this.#ends.set(client, ends);
    ends.add(run);
    return () => ends.delete(run);
  }

  /** Lets nothing through to a client and back for a while. */
  cut(client: Machine, ms: number): void {
    this.#world.trace(client.name, `cut off for ${ms.toFixed(0)} ms`);
    this.#in.disturbances.note(this.#world.now + ms + NOTICED[1], client);
    this.#cutUntil.set(client, this.#world.now + ms);
  }

  /** Lets the next write of a client arrive after so many milliseconds. */
  holdUpWrite(client: Machine, ms: number): void {
    this.#heldUp.set(client, ms);
  }

  #takeHeldUp(client: Machine): number | undefined {
    const ms = this.#heldUp.get(client);
    this.#heldUp.delete(client);
    return ms;
  }

  /** Ends every fault; what is on its way stays there. */
  restore(): void {
    this.#quality = FAULTLESS;
    this.#outpacedUntil.clear();
    this.#cutUntil.clear();
  }

  #read(key: string): FoundDocument<number> {
    return this.#found(this.#seen(key));
  }

  /** Returns what is kept under a key, or what was before. */
  #seen(key: string): Kept {
    const before = this.#before.get(key) ?? [];
    const old = before.length > 0 && this.#random.chance(this.#quality.old);
    return old ? this.#random.pick(before) : this.#kept.get(key) ?? ABSENT;
  }

  #found({ value, version }: Kept): FoundDocument<number> {
    const leap = this.#random.chance(this.#quality.leaps) ? this.#random.spread(...LEAP) : 0;
    return { value, version, time: this.#told(this.#decider() + leap) };
  }

  /** Returns the clock of the machine that executes a request. */
  #decider(): number {
    const { second } = this.#has;
    const { wall } = this.machine.now();
    return second !== undefined && this.#random.chance(0.5) ? wall + second : wall;
  }

  /** Returns what a reply says of a clock. */
  #told(time: number): number | undefined {
    return this.#has.clock ? this.#in.flaws.otherTime?.(time) ?? time : undefined;
  }

  #write(
    client: Machine,
    { key, value, version, sentAt, sentIn }: {
      readonly key: string;
      readonly value: string;
      readonly version: number;
      readonly sentAt: number;
      readonly sentIn: number;
    },
    { notBefore = -Infinity, notify = false, heir }: WriteOptions,
  ): WriteResult<number> {
    const { maxBytes = Infinity } = this.#has;
    if (this.#has.strangers && key in STRANGERS) {
      this.#in.violate(`${client.name} writes over what is no document: ${key}`);
    }
    if (value.length > maxBytes) this.#in.violate(`${client.name} writes ${value.length} bytes under ${key}`);
    const kept = this.#kept.get(key) ?? ABSENT;
    const time = this.#decider();
    if (kept !== ABSENT && this.#world.now < (this.#outpacedUntil.get(client) ?? 0)) {
      this.#replace(key, { ...kept, version: this.#nextVersion() }, false);
      return { written: false };
    }
    const early = this.#has.clock && time < notBefore;
    if (kept.version !== version || early) {
      this.#in.transitions.take(early ? "refused: too early" : "refused: another version");
      // Some servers do not say what is there.
      return { written: false, found: this.#random.chance(0.5) ? this.#found(kept) : undefined };
    }
    if (key === POSITION) {
      this.#replace(key, { value, version: this.#nextVersion(), at: this.#world.now }, notify);
      return { written: true, version: this.#kept.get(key)!.version };
    }
    this.#in.transitions.written({ client: client.name, key, before: kept.value, after: value });
    const [before, after] = [parseDocument(key, kept.value), parseDocument(key, value)];
    const next = { value, version: this.#nextVersion(), at: this.#world.now };
    this.#replace(key, next, notify, heir);
    this.#in.changed({ client, name: key, before, after, sentAt, sentIn });
    return { written: true, version: next.version, time: this.#has.timedWrites ? this.#told(time) : undefined };
  }

  #remove(documents: readonly KeyVersion<number>[]): number {
    return documents.filter(({ key, version }) => this.#removeOne(key, version)).length;
  }

  #removeOne(key: string, version: number): boolean {
    const kept = this.#kept.get(key) ?? ABSENT;
    const isSame = kept.version === version && kept !== ABSENT;
    this.#in.transitions.take(isSame ? "removed" : "not removed: another version");
    if (!isSame) return false;
    if (this.#has.strangers && key in STRANGERS) this.#in.violate(`${key} is removed, which is no document`);
    const days = (this.#world.now - kept.at) / 24 / 3_600_000;
    if (this.#world.now - kept.at < IN_USE) {
      this.#in.violate(`${key} is removed, which was used ${days.toFixed(1)} days ago`);
    }
    this.#replace(key, ABSENT, true);
    return true;
  }

  async #listFrom(client: Machine, cursor: string | undefined): Promise<ListedDocuments<number>> {
    const listed = await this.#call(client, "list", () => {
      this.#listed.set(client, [...this.#listed.get(client) ?? [], this.#world.now]);
      return cursor === NO_CURSOR || this.#list(cursor);
    });
    if (listed === true) throw new RangeError(`no cursor: ${cursor}`);
    return listed;
  }

  #list(cursor = ""): ListedDocuments<number> {
    const names = this.#names.filter((name) => name > cursor);
    const page = names.slice(0, this.#has.page);
    const documents = page.map((key) => ({ key, ...this.#found(this.#kept.get(key)!) }));
    // What is removed while it is listed has no text.
    if (this.#has.strangers) documents.push({ key: "removed", ...this.#found(ABSENT) });
    return { documents, cursor: page.length < names.length ? page.at(-1) : undefined };
  }

  /** The keys that there are, in their order. */
  get #names(): string[] {
    return [...this.#kept].filter(([key, kept]) => kept !== ABSENT && key !== POSITION).map(([key]) => key).sort();
  }

  /**
   * Checks that nothing is left that nobody has used since a time, if a client has read all pages in the last so many
   * milliseconds.
   */
  checkSwept(since: number, ms: number): void {
    const reads = (times: number[]) => times.filter((at) => at > this.#world.now - ms).length;
    const most = Math.max(0, ...[...this.#listed.values()].map(reads));
    const names = this.#names;
    for (const name of names) {
      const { at, value } = this.#kept.get(name)!;
      if (this.#has.strangers && name in STRANGERS) continue;
      if (at > since || most <= names.length + 1 || !parseDocument(name, value).unused) continue;
      this.#in.violate(`${name} is never removed, in ${most} sweeps`);
    }
  }

  /** The watches that a client has open. */
  watches(client: Machine): readonly string[] {
    return this.#open.get(client) ?? [];
  }

  #replace(key: string, next: Kept, isNews: boolean, heir?: string): void {
    this.#before.set(key, [...this.#before.get(key) ?? [], this.#kept.get(key) ?? ABSENT].slice(-OLD));
    this.#kept.set(key, next);
    if (this.#has.news && !isNews) return;
    for (const run of this.#watchers.get(key) ?? []) run(heir);
  }

  #nextVersion(): number {
    this.#version++;
    return this.#in.flaws.repeatsVersions ? 1 + this.#version % 3 : this.#version;
  }

  #watch(
    client: Machine,
    key: string,
    version: number,
    signal: AbortSignal,
    { store }: WatchOptions,
  ): Promise<WatchedDocument<number> | void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return resolve();
      const watchers = this.#watchers.get(key) ?? new Set();
      this.#watchers.set(key, watchers);
      const open = this.#open.get(client) ?? [];
      this.#open.set(client, open);
      open.push(key);
      if (open.filter((each) => each === key).length > 1) {
        this.#in.violate(`${client.name} watches ${key} twice at a time`);
      }
      let over = false;
      const settle = (how: () => void) => {
        if (over) return;
        over = true;
        open.splice(open.indexOf(key), 1);
        watchers.delete(changed);
        signal.removeEventListener("abort", end);
        how();
      };
      const end = () => settle(resolve);
      const fail = () => settle(() => reject(new Error("the watch has failed")));
      // Some servers tell others of a turn only when it is over, counted from the last one that has begun.
      let turns = 0;
      const changed = (heir?: string) => {
        if (over) return;
        const turn = ++turns;
        if (this.#has.news && heir !== undefined && heir !== store) {
          this.#world.after(TURN_MS, () => turn === turns && changed());
          return;
        }
        watchers.delete(changed);
        const isMissed = this.#random.chance(this.#quality.missed);
        if (isMissed && this.#random.chance(FAILS)) this.#world.after(this.#delay(), () => client.deliver(fail));
        if (isMissed || this.#isLost(client)) return;
        // Some servers say what is there, and may say so late.
        const { value, version } = this.#seen(key);
        const found = this.#random.chance(0.5) ? { value, version } : undefined;
        this.#world.after(this.#delay(), () => client.deliver(() => settle(() => resolve(found))));
      };
      signal.addEventListener("abort", end);
      this.#onClosed(client, fail);
      this.#world.after(this.#delay(), () => {
        if (signal.aborted || this.#isLost(client)) return;
        if ((this.#kept.get(key) ?? ABSENT).version === version) watchers.add(changed);
        else changed();
      });
    });
  }

  /**
   * Returns what sets the clock of a client wrong for one moment, if that is so now, and whoever decides goes by no
   * other.
   */
  #leap(client: Machine): (() => void) | undefined {
    if (this.#has.clock || !this.#random.chance(this.#quality.leaps)) return undefined;
    const by = this.#random.spread(...CLIENT_LEAP);
    return () => {
      this.#in.disturbances.note(this.#world.now);
      client.setWall(by);
      this.#world.after(0, () => client.setWall(-by));
    };
  }

  #call<T>(client: Machine, what: string, work: () => T, heldUp?: number, before?: () => void): Promise<T> {
    this.#world.trace(client.name, `→ ${what}`);
    const closed = () => new StoreError("the connection was closed", { permanent: true });
    if (this.#closedAt.has(client)) return Promise.reject(closed());
    return new Promise((resolve, reject) => {
      this.#onClosed(client, () => reject(closed()));
      const lost = () => {
        this.#world.trace(client.name, `⇥ ${what} lost`);
        if (!this.#random.chance(NOTICES)) return;
        this.#world.after(
          this.#random.spread(...NOTICED),
          () => client.deliver(() => reject(new Error("connection lost"))),
        );
      };
      const copies = this.#random.chance(this.#quality.doubled) ? 2 : 1;
      let repeats = this.#random.chance(this.#quality.repeated);
      for (let copy = 0; copy < copies; copy++) {
        if (this.#isLost(client)) return lost();
        const execute = () =>
          this.machine.deliver(() => {
            const value = work();
            if (this.#world.logs) {
              this.#world.trace(this.machine.name, `did ${client.name}'s ${what} = ${JSON.stringify(value)}`);
            }
            if (this.#isLost(client)) {
              return lost();
            }
            if (repeats) {
              repeats = false;
              this.#world.trace(client.name, `⇄ ${what} is repeated`);
              if (what.startsWith("write")) this.#in.transitions.take("repeated unseen");
              this.#world.after(this.#delay(), execute);
              return;
            }
            this.#world.after(this.#delay(), () =>
              client.deliver(() => {
                before?.();
                resolve(value);
              }));
          });
        this.#world.after(heldUp ?? this.#delay(), execute);
      }
    });
  }

  #isLost(client: Machine): boolean {
    return this.#world.now < (this.#cutUntil.get(client) ?? 0) || this.#random.chance(this.#quality.lost);
  }

  #delay(): number {
    if (!this.#random.chance(this.#quality.delayed)) return this.#random.between(...USUAL);
    const delay = delayed(this.#random, this.#quality);
    this.#in.disturbances.note(this.#world.now + delay);
    return delay;
  }
}
