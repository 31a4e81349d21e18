import { drift } from "../../../src/contract/store.ts";
import { elapsed, type Instant, monotonicMs } from "../../../src/time/clock.ts";
import type { Machine } from "../kernel/machine.ts";
import type { Random } from "../kernel/random.ts";
import type { Document, Holder, Timer, TimerServer } from "./server.ts";

/** The lease of all, in milliseconds. */
export const LEASE = 3_000;

/** How long the timers of holders and of callers run, in milliseconds. */
const HELD_MS = 1.5 * LEASE;
const STARTED_MS = 1.1 * LEASE + 500;

/** What the protocol does. */
export interface Rules {
  /** A timer is started anew each time; else one is prolonged. */
  readonly startsAnew: boolean;
  /** A grant or a renewal clears the name that it does not replace. */
  readonly clears: boolean;
  /** Only a timer is named whose start was confirmed. */
  readonly confirms: boolean;
  /** Only a timer is named that lasts for the lease. */
  readonly lasts: boolean;
  /** What a clock may be wrong by is taken from what a timer has left. */
  readonly drifts: boolean;
  /** The clock of the two that moved further counts. */
  readonly bothClocks: boolean;
  /** A caller names a timer if the document is still the one that it has read. */
  readonly comparesNames: boolean;
  /** A caller takes the lock if the document is still the one that it has read. */
  readonly comparesGrants: boolean;
  /** Timers are asked for after the document was read, with the agreement of a majority. */
  readonly asksAfter: boolean;
  /** Moments of two epochs are not compared. */
  readonly knowsEpochs: boolean;
  /** A renewal does not wait until a timer has started. */
  readonly renewsAtOnce: boolean;
  /** A caller names a timer for a holder that has none. */
  readonly callersName: boolean;
  /** No clock of a client is compared with another one. */
  readonly serverDecides: boolean;
}

/** The rules of the engine. */
export const RULES: Rules = {
  startsAnew: true,
  clears: true,
  confirms: true,
  lasts: true,
  drifts: true,
  bothClocks: true,
  comparesNames: true,
  comparesGrants: true,
  asksAfter: true,
  knowsEpochs: true,
  renewsAtOnce: true,
  callersName: true,
  serverDecides: true,
};

/** How far clocks were trusted to agree before there were timers, in milliseconds. */
const SKEW_MS = 10_000;

/** How often a process renews the lease, and looks whether that of another one is over, in milliseconds. */
export interface Pace {
  readonly interval?: number;
  readonly pause?: number;
}

interface Started {
  readonly timer: Timer;
  readonly sentAt: Instant;
  readonly ms: number;
}

/** A process that acquires the lock, holds and releases it. */
export class Process {
  readonly machine: Machine;
  readonly #server: TimerServer;
  readonly #random: Random;
  readonly #rules: Rules;
  readonly #granted: (process: Process) => void;
  #timer: Started | undefined;
  #isStarting = false;
  /** Since when the same beat was seen. */
  #seen: { readonly beat: string; readonly since: Instant } | undefined;
  /** What it holds: its handle, and when it asked for what it was granted last. */
  #held: { readonly id: string; readonly sentAt: Instant } | undefined;
  #handles = 0;
  readonly #interval: number;
  readonly #pause: number;

  constructor(
    machine: Machine,
    server: TimerServer,
    random: Random,
    rules: Rules,
    granted: (process: Process) => void,
    { interval = LEASE / 3, pause = random.between(100, 300) }: Pace = {},
  ) {
    this.machine = machine;
    this.#server = server;
    this.#random = random;
    this.#rules = rules;
    this.#granted = granted;
    this.#interval = interval;
    this.#pause = pause;
  }

  /** Whether it believes that it holds the lock. */
  get holds(): boolean {
    return this.#held !== undefined && !this.machine.dead && this.#trusts(this.#held.sentAt);
  }

  /** Wants the lock for a while. Resolves to whether it was granted. */
  async acquire(wait: number): Promise<boolean> {
    const began = this.machine.now();
    do {
      const document = await this.#call(() => this.#server.document);
      if (document !== undefined && (document.holder === undefined || await this.#isOver(document.holder))) {
        if (await this.#take(document)) return true;
      } else if (document !== undefined) await this.#name(document, document.holder!);
      await this.machine.sleep(this.#pause);
    } while (monotonicMs(began, this.machine.now()) < wait);
    return false;
  }

  /** Holds the lock for a while, and releases it. Resolves to whether it was held all the time. */
  async hold(ms: number): Promise<boolean> {
    const began = this.machine.now();
    for (let left = ms; left > 0 && this.holds; left = ms - monotonicMs(began, this.machine.now())) {
      await this.machine.sleep(Math.min(this.#interval, left));
      if (this.holds && left > this.#interval) await this.#renew();
    }
    const { holds } = this;
    await this.#release(this.#held?.id);
    return holds;
  }

  async #renew(): Promise<void> {
    const { id } = this.#held!;
    const starting = this.#start(HELD_MS);
    if (!this.#rules.renewsAtOnce) await starting;
    const document = await this.#call(() => this.#server.document);
    if (document?.holder?.id !== id || !this.holds) return;
    const sentAt = this.machine.now();
    const timer = this.#lasting ?? (this.#rules.clears ? undefined : document.holder.timer);
    const holder = this.#entry(id, document, timer);
    if (await this.#call(() => this.#server.write(document.version, holder)) && this.#held?.id === id) {
      this.#held = { id, sentAt };
    }
  }

  async #take(document: Document): Promise<boolean> {
    const id = `${this.machine.name}.${++this.#handles}`;
    const sentAt = this.machine.now();
    const holder = this.#entry(id, document, this.#lasting);
    const version = () => this.#rules.comparesGrants ? document.version : this.#server.document.version;
    const written = await this.#call(() => this.#server.write(version(), holder));
    if (written && this.#trusts(sentAt)) {
      this.#held = { id, sentAt };
      this.#granted(this);
      return true;
    }
    // It may have been executed.
    if (written !== false) await this.#release(id);
    return false;
  }

  async #release(id: string | undefined): Promise<void> {
    this.#held = undefined;
    for (let tries = 0; tries < 8; tries++) {
      const document = await this.#call(() => this.#server.document);
      if (document !== undefined && document.holder?.id !== id) return;
      if (document && await this.#call(() => this.#server.write(document.version, undefined))) return;
    }
  }

  /** Names a timer for a holder that has none. */
  async #name({ version }: Document, holder: Holder): Promise<void> {
    if (!this.#rules.callersName || holder.timer !== undefined) return;
    await this.#start(STARTED_MS);
    const timer = this.#lasting;
    if (timer === undefined) return;
    await this.#call(() => {
      const present = this.#server.document;
      if (this.#rules.comparesNames) this.#server.write(version, { ...holder, timer });
      else if (present.holder) this.#server.write(present.version, { ...present.holder, timer });
    });
  }

  async #isOver({ id, beat, end, timer }: Holder): Promise<boolean> {
    const now = this.machine.now();
    const key = `${id}/${beat}`;
    if (this.#seen?.beat !== key) this.#seen = { beat: key, since: now };
    const { since } = this.#seen;
    if (Math.min(now.monotonic - since.monotonic, now.wall - since.wall) >= LEASE) return true;
    const { serverDecides, asksAfter, knowsEpochs } = this.#rules;
    if (!serverDecides && now.wall >= end + SKEW_MS) return true;
    if (timer === undefined) return false;
    const old = !asksAfter && this.#random.chance(0.3);
    return await this.#call(() => this.#server.isOver(timer, { old, oneClock: !knowsEpochs })) ?? false;
  }

  /** Starts a timer, unless one lasts for the lease or is being started. */
  async #start(ms: number): Promise<void> {
    if (!this.#rules.startsAnew && this.#timer !== undefined) return await this.#prolong(this.#timer);
    if (this.#isStarting || this.#lasting !== undefined) return;
    this.#isStarting = true;
    const sentAt = this.machine.now();
    let timer: Timer | undefined;
    if (this.#rules.confirms) timer = await this.#call(() => this.#server.start(ms), true);
    else {
      // Its name is known before.
      timer = { key: -this.#random.integer(1, 2 ** 30) };
      void this.#call(() => this.#server.start(ms), true);
    }
    this.#isStarting = false;
    if (timer !== undefined) this.#timer = { timer, sentAt, ms };
  }

  async #prolong({ timer, ms }: Started): Promise<void> {
    const sentAt = this.machine.now();
    const prolonged = await this.#call(() => this.#server.prolong(timer));
    if (prolonged) this.#timer = { timer, sentAt, ms };
    else if (prolonged === false) this.#timer = undefined;
  }

  /** The timer that lasts for the lease, if there is one. */
  get #lasting(): Timer | undefined {
    if (this.#timer === undefined) return undefined;
    const { timer, sentAt, ms } = this.#timer;
    const now = this.machine.now();
    const age = this.#rules.bothClocks ? elapsed(sentAt, now) : monotonicMs(sentAt, now);
    const left = ms - age - (this.#rules.drifts ? drift(ms) : 0);
    return left >= (this.#rules.lasts ? LEASE : 0) ? timer : undefined;
  }

  #entry(id: string, { version }: Document, timer: Timer | undefined): Holder {
    return { id, beat: version + 1, end: this.machine.now().wall + LEASE, timer };
  }

  #trusts(sentAt: Instant): boolean {
    return elapsed(sentAt, this.machine.now()) < LEASE - drift(LEASE);
  }

  #call<T>(work: () => T, isStart?: boolean): Promise<T | undefined> {
    return this.#server.call(this.machine, work, isStart);
  }
}
