import type { Observer } from "../../contract/events.ts";
import { notify } from "../../internal/process/notify.ts";
import { warnOnce } from "../../internal/process/warning.ts";
import type { Claim } from "../../contract/store.ts";
import type { RedisPort } from "./clients/port.ts";
import type { Runner } from "./commands/runner.ts";
import type { Wakeups } from "./wakeups/wakeups.ts";

/** The warnings of one store, about settings that end no call but cost time. Each is given once. */
export class Warnings {
  readonly #port: Pick<RedisPort, "optionsWarning">;
  readonly #wakeups: Wakeups;
  readonly #runner: Pick<Runner, "unsent">;
  readonly #observer: Observer | undefined;
  #clientChecked = false;
  #refusalReported = false;
  #unsentReported = false;

  /**
   * Creates the warnings for the observer or, without one, for the process (Node, Deno, Bun), once for each message.
   * `node --disable-warning=HoldfastWarning` turns process warnings off; so does any observer.
   */
  constructor(
    port: Pick<RedisPort, "optionsWarning">,
    wakeups: Wakeups,
    runner: Pick<Runner, "unsent">,
    observer: Observer | undefined,
  ) {
    this.#port = port;
    this.#wakeups = wakeups;
    this.#runner = runner;
    this.#observer = observer;
  }

  /**
   * Gives the warnings that are new. Called at each attempt and release, not when the store is made: the observer may
   * use a variable for the store that has no value yet. Without a claim there is no event, and only the process is
   * warned.
   */
  check(claim?: Claim): void {
    if (claim === undefined && this.#observer !== undefined) return;
    if (!this.#clientChecked) {
      this.#clientChecked = true;
      const message = this.#port.optionsWarning;
      if (message !== undefined) this.#warn(claim, message);
    }
    const { refusal } = this.#wakeups;
    if (refusal !== undefined && !this.#refusalReported) {
      this.#refusalReported = true;
      this.#warn(claim, `Waiters ask again and again, since the server refuses to wake them: ${refusal}`);
    }
    const { unsent } = this.#runner;
    if (unsent === undefined || this.#unsentReported) return;
    this.#unsentReported = true;
    this.#warn(claim, `Waiters and revoked holders notice late, since the server refuses to notify them: ${unsent}`);
  }

  #warn(claim: Claim | undefined, message: string): void {
    if (this.#observer === undefined) warnOnce(message, message);
    if (claim !== undefined) notify({ observer: this.#observer }, claim, { type: "warning", message });
  }
}
