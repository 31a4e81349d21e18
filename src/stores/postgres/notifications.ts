import { ShortLivedMap } from "../../time/short_lived.ts";
import { calledOrAborted } from "../../time/aborted.ts";
import { type Clock, elapsed, type Instant, monotonicMs, overdue, type Timer } from "../../time/clock.ts";
import { TURN_MS } from "../../engine/period.ts";
import type { Listen } from "./listen.ts";

/** How long a probe may take, in milliseconds: behind a pooler no notification arrives. */
const PROBE_MS = 2_000;

/** How long watches wait for the connection, in milliseconds; then they fail, so that waiters poll meanwhile. */
const OPENING_MS = 5_000;

/** How long no connection is opened after a lost probe, in milliseconds. */
const DEAF_MS = 60_000;

/** After how long without a notification to send a probe, in milliseconds: a network can drop a connection silently. */
const SILENT_MS = 30_000;

/** The state of a document that this process has requested. */
interface AskedDocument {
  /** The version in the last answer, and the moment of its request. */
  version: string | null | undefined;
  at: number;
  /** The version in the last notification, and the moment of its arrival. */
  news: { readonly version: string; readonly at: number } | undefined;
}

/** A watch that has not ended. */
interface DocumentWatch {
  readonly version: string | null;
  /** The id of the store object. */
  readonly store: string | undefined;
  readonly wake: () => void;
  /** Wakes it when the turn of another store object is over by then. */
  readonly wakeLater: () => void;
}

/** The outcome of a probe: it has arrived, or has not in time, or nobody waits for the connection. */
type ProbeOutcome = "arrived" | "late" | "unwanted";

/** A notification that this process has sent to itself. */
interface Probe {
  readonly payload: string;
  end: (outcome: ProbeOutcome) => void;
}

type Phase =
  | { readonly is: "closed" }
  | { readonly is: "opening"; readonly done: Promise<void>; readonly since: Instant }
  | { readonly is: "open"; readonly end: (() => void) | undefined }
  | { readonly is: "deaf"; readonly since: Instant };

/** Resolves the watches of documents that have changed, by the notifications of one channel. */
export class Notifications {
  readonly #listen: Listen;
  /** Sends a notification to the channel. */
  readonly #notify: (payload: string) => Promise<unknown>;
  readonly #clock: Clock;
  readonly #lingerMs: number;
  readonly #asked = new ShortLivedMap<string, AskedDocument>((_, old) => old);
  readonly #watches = new Map<string, Set<DocumentWatch>>();
  /** Counts notifications and gaps: the answer to an earlier request may be older than they are. */
  #moment = 0;
  #openedAt = 0;
  #phase: Phase = { is: "closed" };
  /** Closes the connection; runs while nobody watches. */
  #idle: Timer | undefined;
  /** How many watches wait for the connection. */
  #wanted = 0;
  /** When the last notification came. */
  #heardAt: Instant;
  /** The probe that is under way. */
  #probe: Probe | undefined;

  constructor(listen: Listen, notify: (payload: string) => Promise<unknown>, clock: Clock, lingerMs: number) {
    this.#listen = listen;
    this.#notify = notify;
    this.#clock = clock;
    this.#lingerMs = lingerMs;
    this.#heardAt = clock.now();
  }

  /** Records that a document is requested. Returns the moment. */
  asks(key: string): number {
    if (!this.#asked.has(key)) this.#asked.set(key, { version: undefined, at: 0, news: undefined });
    return this.#moment;
  }

  /** Records the answer to the request of a moment. */
  got(key: string, version: string | null, at: number): void {
    const asked = this.#asked.get(key);
    if (asked !== undefined) Object.assign(asked, { version, at });
  }

  /** Resolves when a document has another version, or may have one. */
  async watch(key: string, version: string | null, signal: AbortSignal, store?: string): Promise<void> {
    const now = this.#clock.now();
    if (this.#phase.is === "deaf" && elapsed(this.#phase.since, now) < DEAF_MS) {
      throw new Error("no notification comes over this connection: it goes through a pooler, or is lost");
    }
    if (this.#phase.is === "opening" && monotonicMs(this.#phase.since, now) >= OPENING_MS) {
      throw new Error("the connection that listens is not there yet");
    }
    if (this.#phase.is !== "open") {
      const fault = await calledOrAborted<unknown>(signal, (done) => {
        this.#wanted++;
        this.#opening().then(() => done(undefined), (fault) => done(fault ?? new Error("it has failed")));
        return () => {
          if (--this.#wanted === 0) this.#probe?.end("unwanted");
        };
      });
      if (fault !== undefined) throw fault;
      return;
    }
    if (this.#mayBeOld(key, version)) return;
    await calledOrAborted(signal, (wake) => {
      let later: Timer | undefined;
      const wakeLater = () => {
        later?.cancel();
        later = this.#clock.timer(TURN_MS, wake);
      };
      const watch = { version, store, wake, wakeLater };
      const all = this.#watches.get(key) ?? new Set();
      this.#watches.set(key, all.add(watch));
      this.#idle?.cancel();
      if (elapsed(this.#heardAt, now) >= SILENT_MS && this.#probe === undefined) void this.#check();
      return () => {
        later?.cancel();
        all.delete(watch);
        if (all.size === 0) this.#watches.delete(key);
        this.#closeLater();
      };
    });
  }

  #mayBeOld(key: string, version: string | null): boolean {
    const asked = this.#asked.get(key);
    if (asked?.version !== version || asked.at < this.#openedAt) return true;
    return asked.news !== undefined && asked.news.at > asked.at && asked.news.version !== version;
  }

  /**
   * Closes the connection after a while, unless there are watches then. A connection that ends with the client stays.
   */
  #closeLater(): void {
    this.#idle?.cancel();
    if (this.#watches.size > 0 || this.#phase.is !== "open") return;
    const { end } = this.#phase;
    if (end === undefined) return;
    this.#idle = this.#clock.timer(this.#lingerMs, () => {
      this.#phase = { is: "closed" };
      end();
    });
  }

  #opening(): Promise<void> {
    if (this.#phase.is === "opening") return this.#phase.done;
    const done = this.#open();
    this.#phase = { is: "opening", done, since: this.#clock.now() };
    return done;
  }

  async #open(): Promise<void> {
    let end: (() => void) | undefined;
    let isLost = false;
    try {
      end = await this.#listen({
        notified: (payload) => this.#notified(payload),
        opened: () => this.#wakeAll(),
        lost: () => {
          isLost = true;
          this.#lost(end);
        },
      });
      const outcome = this.#wanted === 0 ? "unwanted" : await this.#sendProbe();
      if (isLost) throw new Error("the connection that listens was lost");
      if (outcome !== "arrived") end?.();
      if (outcome === "arrived") this.#phase = { is: "open", end };
      else this.#phase = outcome === "late" ? { is: "deaf", since: this.#clock.now() } : { is: "closed" };
      this.#wakeAll();
      this.#closeLater();
    } catch (error) {
      end?.();
      this.#phase = { is: "closed" };
      throw error;
    }
  }

  /** Sends a probe, and closes the connection if it does not arrive. */
  async #check(): Promise<void> {
    if (this.#phase.is !== "open") return;
    const { end } = this.#phase;
    // A statement that fails says nothing of the connection that listens: the next watch sends a probe again.
    const outcome = await this.#sendProbe().catch(() => undefined);
    if (outcome === "late") this.#lost(end);
  }

  async #sendProbe(): Promise<ProbeOutcome> {
    const probe: Probe = this.#probe = { payload: `probe:${crypto.randomUUID()}`, end: () => {} };
    const ended = new Promise<ProbeOutcome>((resolve) => probe.end = resolve);
    try {
      await this.#notify(probe.payload);
      // The limit counts from here: the statement itself may take any time.
      const timer = overdue(PROBE_MS, () => probe.end("late"), this.#clock);
      const outcome = await ended;
      timer.cancel();
      return outcome;
    } finally {
      if (this.#probe === probe) this.#probe = undefined;
    }
  }

  #notified(payload: string): void {
    this.#heardAt = this.#clock.now();
    if (payload === this.#probe?.payload) return this.#probe.end("arrived");
    const [name = "", version = "", heir] = payload.split(":");
    const at = ++this.#moment;
    const asked = this.#asked.get(name);
    if (asked !== undefined) asked.news = { version, at };
    for (const watch of [...this.#watches.get(name) ?? []]) {
      if (watch.version === version) continue;
      if (heir === undefined || heir === watch.store) watch.wake();
      else watch.wakeLater();
    }
  }

  /** Wakes all watches, after a gap in which notifications may have been lost. */
  #wakeAll(): void {
    this.#openedAt = ++this.#moment;
    for (const watches of [...this.#watches.values()]) for (const { wake } of [...watches]) wake();
  }

  /** Records the loss of the connection that `end` closes. Does nothing for an earlier connection. */
  #lost(end: (() => void) | undefined): void {
    if (this.#phase.is !== "open" || this.#phase.end !== end) return;
    this.#phase = { is: "closed" };
    this.#idle?.cancel();
    this.#wakeAll();
    end?.();
  }
}
