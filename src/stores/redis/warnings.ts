import type { Observer } from "../../contract/events.ts";
import { notify } from "../../internal/process/notify.ts";
import { warnOnce } from "../../internal/process/warning.ts";
import type { Claim } from "../../contract/store.ts";
import type { RedisPort } from "./clients/port.ts";
import type { Runner } from "./commands/runner.ts";
import type { Subscription } from "./wakeups/subscription.ts";

/** The warnings of one store, about settings that end no call but cost time. Each is given once. */
export class Warnings {
  readonly #observer: Observer | undefined;
  /** Returns the message of each warning that was not given yet, once there is a reason for it. */
  readonly #pending: Set<() => string | undefined>;

  /**
   * Creates the warnings for the observer or, without one, for the process (Node, Deno, Bun), once for each message.
   * `node --disable-warning=HoldfastWarning` turns process warnings off; so does any observer.
   */
  constructor(
    { optionsWarning }: Pick<RedisPort, "optionsWarning">,
    subscription: Pick<Subscription, "refusal">,
    runner: Pick<Runner, "unsent">,
    observer: Observer | undefined,
  ) {
    this.#observer = observer;
    const because = (message: string, reason: string | undefined) => {
      return reason === undefined ? undefined : `${message}: ${reason}`;
    };
    this.#pending = new Set([
      () => optionsWarning,
      () => because("Waiters ask again and again, since the server refuses to wake them", subscription.refusal),
      () => because("Waiters and revoked holders notice late, since the server refuses to notify them", runner.unsent),
    ]);
  }

  /**
   * Gives the warnings that are new. Called at each attempt and release, not when the store is made: the observer may
   * use a variable for the store that has no value yet. Without a claim there is no event, and only the process is
   * warned.
   */
  check(claim?: Claim): void {
    const observer = this.#observer;
    if (claim === undefined && observer !== undefined) return;
    for (const messageOf of this.#pending) {
      const message = messageOf();
      if (message === undefined) continue;
      this.#pending.delete(messageOf);
      if (observer === undefined) warnOnce(message, message);
      if (claim !== undefined) notify({ observer }, claim, { type: "warning", message });
    }
  }
}
