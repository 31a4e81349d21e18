import type {
  Backend,
  FoundDocument,
  ListedDocuments,
  WatchedDocument,
  WriteOptions,
  WriteResult,
} from "../../../src/stores/cas/mod.ts";
import type { Disturbances } from "../disturbances.ts";
import type { Transitions } from "./transitions.ts";
import type { Machine } from "../machine.ts";
import type { Random } from "../random.ts";
import type { World } from "../world.ts";

/** How bad the way to the server is: probabilities, for each message. */
export interface Quality {
  readonly lost: number;
  readonly doubled: number;
  readonly delayed: number;
  /** How long a message that is delayed takes at the most, in milliseconds. */
  readonly longest: number;
  /** How often a read gives what was there before one of the last writes. */
  readonly old: number;
  /** How often a watch never ends. */
  readonly missed: number;
}

/** A way on which nothing goes wrong. */
export const FAULTLESS: Quality = { lost: 0, doubled: 0, delayed: 0, longest: 0, old: 0, missed: 0 };

/** What a server does otherwise than it must, to see whether that is noticed. */
export interface ServerFlaws {
  /** Versions are numbers of a short row, which begins anew. */
  readonly repeatsVersions?: boolean;
  /** The time in a reply is another one. */
  readonly otherTime?: ((time: number) => number) | undefined;
  /** It does not say that several machines decide. */
  readonly hidesMachines?: boolean;
}

/** What a server can do. */
export interface Abilities {
  /** Whether replies have its clock. */
  readonly clock: boolean;
  /** Whether it tells its clock in the reply to a write that it has executed, too. */
  readonly timedWrites: boolean;
  /** How far the clock of a second machine is ahead of that, which decides on every other write; `undefined` if none does. */
  readonly second: number | undefined;
  /** Whether clients may watch. */
  readonly watch: boolean;
  /** The largest document, in bytes. */
  readonly maxBytes: number | undefined;
}

/** What surrounds a server. */
export interface Circumstances {
  readonly quality: Quality;
  readonly disturbances: Disturbances;
  readonly abilities: Abilities;
  readonly flaws: ServerFlaws;
  readonly transitions: Transitions;
  /** Notes something that must not happen. */
  readonly violate: (what: string) => void;
}

/** What is kept under a key. */
interface Kept {
  readonly value: string | undefined;
  readonly version: number;
}

const ABSENT: Kept = { value: undefined, version: 0 };

/** How long a message usually takes, in milliseconds. */
const USUAL = [0.1, 2] as const;

/** How long a message that is delayed takes at the least, in milliseconds. */
const HELD_UP = 2;

/** How long a client takes to notice that its request was lost, if it does, in milliseconds. */
const NOTICED = [0.1, 300] as const;

/** How often it does. */
const NOTICES = 0.5;

/** An old read is older than so many writes at the most. */
const OLD = 5;

/** A client takes no answer to a write after so many milliseconds. */
const UNANSWERED = 2_000;

/** A server that keeps documents, and compares versions. Its clients reach it over a bad network. */
export class DocumentServer {
  readonly machine: Machine;
  readonly #world: World;
  readonly #random: Random;
  readonly #disturbances: Disturbances;
  readonly #flaws: ServerFlaws;
  readonly #transitions: Transitions;
  readonly #violate: (what: string) => void;
  readonly #has: Abilities;
  #quality: Quality;
  #version = 0;
  readonly #kept = new Map<string, Kept>();
  /** What was there before the last writes. */
  readonly #before = new Map<string, Kept[]>();
  readonly #watchers = new Map<string, Set<() => void>>();
  readonly #cutUntil = new Map<Machine, number>();
  /** How long the next write of a client is on its way, in milliseconds. */
  readonly #heldUp = new Map<Machine, number>();

  constructor(world: World, machine: Machine, random: Random, circumstances: Circumstances) {
    this.#world = world;
    this.machine = machine;
    this.#random = random;
    this.#quality = circumstances.quality;
    this.#disturbances = circumstances.disturbances;
    this.#has = circumstances.abilities;
    this.#flaws = circumstances.flaws;
    this.#transitions = circumstances.transitions;
    this.#violate = circumstances.violate;
  }

  /** Returns what a client asks it through. */
  connect(client: Machine): Backend<number> {
    return {
      read: (key) => this.#call(client, `read ${key}`, () => this.#read(key)),
      write: (key, value, version, options) => {
        const sentAt = this.#world.now;
        return this.#call(client, `write ${key} over ${version}`, () => {
          if (this.#world.now - sentAt > UNANSWERED) this.#transitions.take("executed late");
          return this.#write(client, { key, value, version }, options);
        }, this.#takeHeldUp(client));
      },
      remove: (key, version) => this.#call(client, `remove ${key} at ${version}`, () => this.#remove(key, version)),
      list: () => this.#call(client, "list", () => this.#list()),
      ...this.#has.watch
        ? { watch: (key: string, version: number, signal: AbortSignal) => this.#watch(client, key, version, signal) }
        : {},
      maxBytes: this.#has.maxBytes,
      severalClocks: this.#has.second !== undefined && !this.#flaws.hidesMachines,
    };
  }

  /** Lets nothing through to a client and back for a while. */
  cut(client: Machine, ms: number): void {
    this.#world.trace(client.name, `cut off for ${ms.toFixed(0)} ms`);
    this.#disturbances.note(this.#world.now + ms + NOTICED[1]);
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

  #found(kept: Kept): FoundDocument<number> {
    return { ...kept, time: this.#told(this.#decider()) };
  }

  /** Returns the clock of the machine that executes a request. */
  #decider(): number {
    const { second } = this.#has;
    const { wall } = this.machine.now();
    return second !== undefined && this.#random.chance(0.5) ? wall + second : wall;
  }

  /** Returns what a reply says of a clock. */
  #told(time: number): number | undefined {
    return this.#has.clock ? this.#flaws.otherTime?.(time) ?? time : undefined;
  }

  #write(
    client: Machine,
    { key, value, version }: { readonly key: string; readonly value: string; readonly version: number },
    { notBefore = -Infinity }: WriteOptions,
  ): WriteResult<number> {
    const { maxBytes = Infinity } = this.#has;
    if (value.length > maxBytes) this.#violate(`${client.name} writes ${value.length} bytes under ${key}`);
    const kept = this.#kept.get(key) ?? ABSENT;
    const time = this.#decider();
    const early = this.#has.clock && time < notBefore;
    if (kept.version !== version || early) {
      this.#transitions.take(early ? "refused: too early" : "refused: another version");
      // Some servers do not say what is there.
      return { written: false, found: this.#random.chance(0.5) ? this.#found(kept) : undefined };
    }
    this.#transitions.written({ client: client.name, key, before: kept.value, after: value });
    const next = { value, version: this.#nextVersion() };
    this.#replace(key, next);
    return { written: true, version: next.version, time: this.#has.timedWrites ? this.#told(time) : undefined };
  }

  #remove(key: string, version: number): boolean {
    const kept = this.#kept.get(key) ?? ABSENT;
    const isSame = kept.version === version && kept !== ABSENT;
    this.#transitions.take(isSame ? "removed" : "not removed: another version");
    if (isSame) this.#replace(key, ABSENT);
    return isSame;
  }

  #list(): ListedDocuments<number> {
    const documents = [...this.#kept].filter(([, kept]) => kept !== ABSENT);
    return { documents: documents.map(([key, kept]) => ({ key, ...this.#found(kept) })) };
  }

  #replace(key: string, next: Kept): void {
    this.#before.set(key, [...this.#before.get(key) ?? [], this.#kept.get(key) ?? ABSENT].slice(-OLD));
    this.#kept.set(key, next);
    for (const run of this.#watchers.get(key) ?? []) run();
  }

  #nextVersion(): number {
    this.#version++;
    return this.#flaws.repeatsVersions ? 1 + this.#version % 3 : this.#version;
  }

  #watch(client: Machine, key: string, version: number, signal: AbortSignal): Promise<WatchedDocument<number> | void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const watchers = this.#watchers.get(key) ?? new Set();
      this.#watchers.set(key, watchers);
      const resolveTo = (found: WatchedDocument<number> | void) => {
        watchers.delete(changed);
        signal.removeEventListener("abort", end);
        resolve(found);
      };
      const end = () => resolveTo();
      const changed = () => {
        watchers.delete(changed);
        if (this.#random.chance(this.#quality.missed) || this.#isLost(client)) return;
        // Some servers say what is there, and may say so late.
        const found = this.#random.chance(0.5) ? this.#seen(key) : undefined;
        this.#world.after(this.#delay(), () => client.deliver(() => resolveTo(found)));
      };
      signal.addEventListener("abort", end);
      this.#world.after(this.#delay(), () => {
        if (signal.aborted || this.#isLost(client)) return;
        if ((this.#kept.get(key) ?? ABSENT).version === version) watchers.add(changed);
        else changed();
      });
    });
  }

  #call<T>(client: Machine, what: string, work: () => T, heldUp?: number): Promise<T> {
    this.#world.trace(client.name, `→ ${what}`);
    return new Promise((resolve, reject) => {
      const lost = () => {
        this.#world.trace(client.name, `⇥ ${what} lost`);
        if (!this.#random.chance(NOTICES)) return;
        this.#world.after(
          this.#random.spread(...NOTICED),
          () => client.deliver(() => reject(new Error("connection lost"))),
        );
      };
      const copies = this.#random.chance(this.#quality.doubled) ? 2 : 1;
      for (let copy = 0; copy < copies; copy++) {
        if (this.#isLost(client)) return lost();
        this.#world.after(heldUp ?? this.#delay(), () =>
          this.machine.deliver(() => {
            const value = work();
            if (this.#world.logs) {
              this.#world.trace(this.machine.name, `did ${client.name}'s ${what} = ${JSON.stringify(value)}`);
            }
            if (this.#isLost(client)) {
              return lost();
            }
            this.#world.after(this.#delay(), () => client.deliver(() => resolve(value)));
          }));
      }
    });
  }

  #isLost(client: Machine): boolean {
    return this.#world.now < (this.#cutUntil.get(client) ?? 0) || this.#random.chance(this.#quality.lost);
  }

  #delay(): number {
    if (!this.#random.chance(this.#quality.delayed)) return this.#random.between(...USUAL);
    const delay = this.#random.spread(HELD_UP, this.#quality.longest);
    this.#disturbances.note(this.#world.now + delay);
    return delay;
  }
}
