import type { Clock, Timer } from "../../_clock.ts";
import { type Claim, holdOf } from "../../store.ts";
import type { LockFile } from "./file.ts";

/** How often the file is asked whether anything was taken away, in milliseconds. */
const POLL = 50;

/** A hold that is watched. */
interface Watch {
  readonly name: string;
  readonly hold: string;
  readonly end: () => void;
  /** Whether it was seen to be held. */
  seen: boolean;
}

/**
 * Tells the holders of this process when a lock is taken away from them. The file counts how often that has happened, so
 * that one row is read at each poll, however many are watched.
 */
export class Evictions {
  readonly #file: LockFile;
  readonly #clock: Clock;
  readonly #watches = new Set<Watch>();
  #count: unknown;
  #timer: Timer | undefined;

  constructor(file: LockFile, clock: Clock) {
    this.#file = file;
    this.#clock = clock;
  }

  /** Resolves soon after the claim is not in the file any more, and when the signal aborts. */
  watch(claim: Claim, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        signal.removeEventListener("abort", end);
        this.#watches.delete(watch);
        if (this.#watches.size === 0) this.stop();
        resolve();
      };
      const watch: Watch = { name: claim.name, hold: holdOf(claim), end, seen: false };
      if (signal.aborted) return resolve();
      signal.addEventListener("abort", end);
      this.#watches.add(watch);
      if (this.#watches.size === 1) this.#arm();
    });
  }

  /** Looks no more. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.timer(POLL, () => this.#poll().catch(() => {}));
  }

  async #poll(): Promise<void> {
    try {
      await this.#file.read((run) => {
        const count = run.evictions.get()?.["count"];
        for (const watch of this.#watches) {
          if (watch.seen && count === this.#count) continue;
          watch.seen = run.expiry.get(watch.name, watch.hold) !== undefined;
          if (!watch.seen) watch.end();
        }
        this.#count = count;
      });
    } finally {
      // After a fault, too.
      if (this.#watches.size > 0 && !this.#file.closed) this.#arm();
    }
  }
}
