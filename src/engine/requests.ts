import { StoreError } from "../contract/errors.ts";
import { LATE, within } from "../contract/release.ts";
import { warnOnce } from "../internal/process/warning.ts";
import { type Clock, elapsed, type Instant } from "../time/clock.ts";
import type { Backend } from "./backend.ts";
import type { LockDocument } from "./document.ts";

/** How long a call of the backend may take, in milliseconds; a write at most a third of the shortest lease in it. */
const ANSWER_MS = 2_000;

/** Warns once of a missing right, unless the backend was closed. Other failures of work in the background pass. */
export function warnOfRefusal(kind: string, what: string, error: unknown, { closed }: Pick<Backend, "closed">): void {
  if (!closed && error instanceof StoreError && error.permanent) warnOnce(kind, `${what}: ${error.message}`);
}

export class Requests {
  readonly #backend: Backend;
  readonly #clock: Clock;
  /** The leases in the document that was last read or written, and its moment. */
  #leases: { readonly ms: readonly number[]; readonly at: Instant } | undefined;
  #askedAt: Instant;

  constructor(backend: Backend, clock: Clock) {
    this.#backend = backend;
    this.#clock = clock;
    this.#askedAt = clock.now();
  }

  /** When the last answered request was sent; until one is, when this was created. */
  get askedAt(): Instant {
    return this.#askedAt;
  }

  /** Records the leases in a document that is read or written at a moment. */
  noteLeases({ holders }: LockDocument, at: Instant): void {
    this.#leases = { ms: Array.from(holders.values(), ({ lease }) => lease), at };
  }

  /** Settles like a request that was sent at a moment, or rejects when it takes too long. */
  async inTime<T>(request: Promise<T>, what: string, sentAt: Instant): Promise<T> {
    const ms = this.#answerMs(sentAt);
    try {
      const reply = await within(ms, request, this.#clock, sentAt);
      this.#askedAt = sentAt;
      return reply;
    } catch (error) {
      if (error !== LATE) throw error;
      const { lateBecause } = this.#backend;
      const why = lateBecause === undefined ? "" : `: ${lateBecause}`;
      throw new Error(`no answer to a ${what} within ${Math.round(ms)} ms${why}`);
    }
  }

  /**
   * Returns how long a request may take: a third of the shortest lease, as renewals wait for it. A lease that was last
   * seen longer ago than its length does not count: no handle of this store object renews it, and the network may be
   * too slow for it.
   */
  #answerMs(sentAt: Instant): number {
    const { ms = [], at = sentAt } = this.#leases ?? {};
    const age = elapsed(at, sentAt);
    return ms.reduce((least, lease) => lease < age ? least : Math.min(least, lease / 3), ANSWER_MS);
  }
}
