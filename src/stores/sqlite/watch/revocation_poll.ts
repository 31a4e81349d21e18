import { calledOrAborted } from "../../../time/aborted.ts";
import type { Clock, Timer } from "../../../time/clock.ts";
import { type Claim, handleOf } from "../../../contract/store.ts";
import type { LockFile } from "../file/file.ts";

/** How often to poll the file for revocations, in milliseconds. */
const POLL_MS = 50;

/** A handle that watches for the revocation of its lock. */
interface RevocationWatch {
  readonly name: string;
  readonly handle: string;
  readonly revoked: () => void;
  /** Whether a poll has found the handle among the holders. */
  found: boolean;
}

/** The handles that watch for revocations. The file counts these: a poll reads one row, however many handles watch. */
export class RevocationPoll {
  readonly #file: LockFile;
  readonly #clock: Clock;
  readonly #watches = new Set<RevocationWatch>();
  #count: unknown;
  #timer: Timer | undefined;

  constructor(file: LockFile, clock: Clock) {
    this.#file = file;
    this.#clock = clock;
  }

  /** Resolves soon after the claim's handle is no longer a holder, and when the signal aborts. */
  wait(claim: Claim, signal: AbortSignal): Promise<void> {
    return calledOrAborted(signal, (revoked) => {
      const watch: RevocationWatch = { name: claim.name, handle: handleOf(claim), revoked, found: false };
      this.#watches.add(watch);
      if (this.#watches.size === 1) this.#schedule();
      return () => {
        this.#watches.delete(watch);
        if (this.#watches.size === 0) this.stop();
      };
    });
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #schedule(): void {
    this.#timer?.cancel();
    // After a fault the next poll comes, and the renewals of the holders find out what is wrong.
    this.#timer = this.#clock.timer(POLL_MS, () => this.#poll().catch(() => {}));
  }

  async #poll(): Promise<void> {
    try {
      await this.#file.read((run) => {
        const count = run.revocations.get()?.["count"];
        for (const watch of this.#watches) {
          if (watch.found && count === this.#count) continue;
          watch.found = run.expiry.get(watch.name, watch.handle) !== undefined;
          if (!watch.found) watch.revoked();
        }
        this.#count = count;
      });
    } finally {
      // After a fault, too.
      if (this.#watches.size > 0 && !this.#file.closed) this.#schedule();
    }
  }
}
