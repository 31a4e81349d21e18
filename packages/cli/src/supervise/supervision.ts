import { type Clock, elapsed, type Instant, type Timer } from "../time/clock.ts";
import type { Signal } from "./processes.ts";

/** The part of a lock that limits how long its command may run. */
export interface Watched {
  /** Aborts when the lock is lost. */
  readonly signal: AbortSignal;
  /** Returns the milliseconds until the lease ends unless it is renewed before; 0 when the lock is lost. */
  remaining(): number;
}

/** The part of a command that is needed to stop it. */
export interface Stoppable {
  /** Resolves when the command itself has ended. */
  readonly ended: Promise<unknown>;
  /** Whether the command, or a process that it has started, still runs. */
  readonly alive: boolean;
  /** Sends a signal to the command and to the processes that it has started. */
  signal(name: Signal): void;
}

/** The times for stopping a command. */
export interface StopTimes {
  /** The time from SIGTERM to SIGKILL, in milliseconds. */
  readonly graceMs: number;
  /** How long before the end of the lease SIGKILL is sent at the latest, in milliseconds. */
  readonly marginMs: number;
}

/** The options of a supervision. */
export interface SupervisionOptions extends StopTimes {
  readonly clock: Clock;
  /** Called when the supervision begins to stop the command. */
  readonly onStop?: (() => void) | undefined;
}

/** How often to check whether a command's processes have ended, once the command itself has, in milliseconds. */
const LOOK_MS = 20;

/**
 * Keeps a command from outliving its lock.
 *
 * - While the lease is renewed there is one timer, set to the moment when only the grace and the margin would be left.
 * - If no more is left then, the renewals have failed for long: the command is stopped *now*, so that it is dead before
 *   the lease ends. Waiting for the report of the loss would be too late: another holder may have the lock by then.
 * - If the lock is lost before that moment, it was revoked: no deadline is left to meet, and the command is stopped
 *   with the full grace.
 * - If the loss comes with that timer overdue, this process stood still while the lease ended: SIGKILL at once.
 *
 * To stop is to send SIGTERM, and SIGKILL after the grace. SIGKILL is also sent when the command has ended on SIGTERM
 * but one of its processes has not.
 */
export class Supervision {
  readonly #command: Stoppable;
  readonly #lock: Watched;
  readonly #options: SupervisionOptions;
  readonly #clock: Clock;
  #phase: "running" | "stopping" | "killed" = "running";
  #timer: Timer | undefined;
  /**
   * When the timer was set, and to how many milliseconds. It tells whether a loss comes after the time of the timer.
   */
  #setAt: Instant;
  #dueMs = 0;

  /** Prepares the supervision of a command that runs under a lock. */
  constructor(command: Stoppable, lock: Watched, options: SupervisionOptions) {
    this.#command = command;
    this.#lock = lock;
    this.#options = options;
    this.#clock = options.clock;
    this.#setAt = options.clock.now();
  }

  /**
   * Watches until the command has ended and, if it was stopped, none of its processes is left. Resolves to how it was
   * stopped.
   */
  async watch(): Promise<"not stopped" | "stopped" | "killed"> {
    const { signal } = this.#lock;
    const lost = () => this.#onLoss();
    signal.addEventListener("abort", lost);
    if (signal.aborted) this.#onLoss();
    else this.#look();
    try {
      await this.#command.ended;
      while (this.#phase === "stopping" && this.#command.alive) await this.#clock.sleep(LOOK_MS);
    } finally {
      signal.removeEventListener("abort", lost);
      this.#timer?.cancel();
    }
    return this.#phase === "running" ? "not stopped" : this.#phase === "killed" ? "killed" : "stopped";
  }

  /** Stops the command if only the grace and the margin are left; else sets the timer to that moment. */
  #look(): void {
    const { graceMs, marginMs } = this.#options;
    const left = this.#lock.remaining();
    // To ask for what remains may be how the loss is noticed.
    if (this.#phase !== "running") return;
    const spare = left - graceMs - marginMs;
    if (spare <= 0) return this.#stop(Math.min(graceMs, left - marginMs));
    this.#setAt = this.#clock.now();
    this.#dueMs = spare;
    this.#timer = this.#clock.timer(spare, () => this.#look(), this.#setAt, spare);
  }

  #onLoss(): void {
    if (this.#phase !== "running") return;
    const { graceMs, marginMs } = this.#options;
    const left = this.#lock.remaining();
    const late = elapsed(this.#setAt, this.#clock.now()) >= this.#dueMs;
    this.#stop(late ? 0 : left > 0 ? Math.min(graceMs, left - marginMs) : graceMs);
  }

  #stop(graceMs: number): void {
    this.#timer?.cancel();
    this.#phase = "stopping";
    this.#options.onStop?.();
    if (graceMs <= 0) return this.#kill();
    this.#command.signal("SIGTERM");
    // A process that is suspended acts on it only once it continues.
    this.#command.signal("SIGCONT");
    this.#timer = this.#clock.timer(graceMs, () => this.#kill(), this.#clock.now(), graceMs);
  }

  #kill(): void {
    this.#phase = "killed";
    this.#command.signal("SIGKILL");
  }
}
