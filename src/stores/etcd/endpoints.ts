import type { Clock } from "../../time/clock.ts";
import { EtcdFault } from "./failures.ts";

/** How long a member may take to answer before the next call goes to another member, in milliseconds. */
const SLOW_MS = 500;

/** The members of a cluster. All calls go to the current one. */
export class EtcdEndpoints {
  readonly #urls: readonly string[];
  readonly #clock: Clock;
  #current = 0;

  constructor(urls: readonly string[], clock: Clock) {
    this.#urls = urls;
    this.#clock = clock;
  }

  get current(): string {
    return this.#urls[this.#current]!;
  }

  /**
   * Sends a call to one member after the other while each answers that nothing was done. When a member is slow, or its
   * outcome is unknown, only the next call goes to another member: a write may have been executed.
   */
  async inTurn<T>(ask: (url: string) => Promise<T>): Promise<T> {
    for (let tries = 1;; tries++) {
      const asked = this.#current;
      const slow = this.#clock.timer(SLOW_MS, () => this.#leave(asked));
      try {
        return await ask(this.current);
      } catch (error) {
        // A call that was given up says nothing about the member.
        if (!(error instanceof EtcdFault)) throw error;
        const { kind } = error;
        if (kind === "elsewhere" || kind === "unknown") this.#leave(asked);
        if (kind !== "elsewhere" || tries === this.#urls.length) throw error;
      } finally {
        slow.cancel();
      }
    }
  }

  #leave(asked: number): void {
    // Another call may have left it meanwhile.
    if (this.#current === asked) this.#current = (asked + 1) % this.#urls.length;
  }
}
