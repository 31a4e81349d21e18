import type { Clock, Timer } from "../../../internal/time/clock.ts";
import { POLL_MS } from "../constants.ts";

/** The pause after the first failure; each further failure in a row makes it so much longer. In milliseconds. */
const PAUSE_MS = 50;

/** The longest pause between two tries to connect, in milliseconds. */
const MAX_PAUSE_MS = 1_000;

/** Decides when a connection that has failed may be tried again, and waits until then. */
export class Reconnects {
  readonly #clock: Clock;
  /** Runs while a pause is waited for. */
  #timer: Timer | undefined;
  /** When the next try may be made, by the monotonic clock. */
  #notBefore = -Infinity;
  /** How many tries have failed in a row. */
  #failures = 0;

  /** Measures the pauses by a clock. The first try may be made at once. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether a pause is being waited for. */
  get pausing(): boolean {
    return this.#timer !== undefined;
  }

  /** Has `retry` called once the pause is over. Returns `false`, and does nothing, when no pause is left. */
  pause(retry: () => void): boolean {
    const left = this.#notBefore - this.#clock.now().monotonic;
    if (left <= 0) return false;
    this.#timer = this.#clock.timer(left, () => {
      this.#timer = undefined;
      retry();
    });
    return true;
  }

  /** Ends the wait for a pause. The next try must not be made earlier for that. */
  cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /**
   * Notes that a try or a connection has failed, which makes the next pause longer.
   *
   * @param openSince when the connection was made, by the monotonic clock; `undefined` when it was not
   */
  failed(openSince: number | undefined): void {
    const now = this.#clock.now().monotonic;
    // A connection that is always lost as soon as it is made must not be made without pauses.
    if (openSince !== undefined && now - openSince > MAX_PAUSE_MS) this.#failures = 0;
    this.#failures++;
    this.#notBefore = now + Math.min(this.#failures * PAUSE_MS, MAX_PAUSE_MS);
  }

  /** Notes that the server has refused the connection: the next try is not made soon. */
  refused(): void {
    this.#notBefore = this.#clock.now().monotonic + POLL_MS;
  }
}
