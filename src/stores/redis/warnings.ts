import type { Observer } from "../../events.ts";
import { notify } from "../../internal/process/notify.ts";
import { warnOnce } from "../../internal/process/warning.ts";
import type { Claim } from "../../store.ts";
import type { RedisPort } from "./clients/port.ts";
import type { Wakeups } from "./wakeups/wakeups.ts";

/** The warnings of one store: about what ends no call, but costs time. Each is given once. */
export class Warnings {
  readonly #port: Pick<RedisPort, "optionsWarning">;
  readonly #wakeups: Wakeups;
  readonly #observer: Observer | undefined;
  #clientChecked = false;
  #refusalReported = false;

  /**
   * Warns the observer or, without one, the process (Node, Deno, Bun), there once for each message.
   * `node --disable-warning=HoldfastWarning` turns these off, and so does any observer.
   */
  constructor(port: Pick<RedisPort, "optionsWarning">, wakeups: Wakeups, observer: Observer | undefined) {
    this.#port = port;
    this.#wakeups = wakeups;
    this.#observer = observer;
  }

  /**
   * Gives the warnings that are new. Called at each claim, not when the store is made: then the observer may use a
   * variable for the store that has no value yet.
   */
  check(claim: Claim): void {
    if (!this.#clientChecked) {
      this.#clientChecked = true;
      const message = this.#port.optionsWarning;
      if (message !== undefined) this.#warn(claim, message);
    }
    const { refusal } = this.#wakeups;
    if (refusal === undefined || this.#refusalReported) return;
    this.#refusalReported = true;
    this.#warn(claim, `Waiters ask again and again, since the server refuses to wake them: ${refusal}`);
  }

  #warn(claim: Claim, message: string): void {
    if (this.#observer === undefined) warnOnce(message, message);
    notify({ observer: this.#observer }, claim, { type: "warning", message });
  }
}
