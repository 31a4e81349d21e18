import { calledOrAborted } from "../../../time/aborted.ts";
import { readMeta } from "../../../internal/process/meta.ts";
import type { Meta } from "../../../contract/store.ts";

interface Watch {
  /** The `meta` of the revoker, from the last message. */
  by: Meta | undefined;
  readonly revoked: () => void;
  /** Asks the server whether the handle holds the lock. */
  readonly held: () => Promise<boolean>;
}

/** How many messages about other handles are remembered. */
const RECENT = 100;

/** The handles of a client that watch for the revocation of their locks. */
export class Revocations {
  readonly #watches = new Map<string, Watch>();
  /** The last messages about other handles: a message may arrive before the answer to the attempt. */
  readonly #recent: string[] = [];

  get size(): number {
    return this.#watches.size;
  }

  /** Resolves when a handle's lock is revoked, to the `meta` of the revoker if known; and when the signal aborts. */
  wait(handle: string, held: () => Promise<boolean>, signal: AbortSignal): Promise<Meta | void> {
    return calledOrAborted<Meta | undefined>(signal, (call) => {
      const watch: Watch = { by: undefined, revoked: () => call(watch.by), held };
      this.#watches.set(handle, watch);
      return () => void this.#watches.delete(handle);
    });
  }

  /** Receives the id of a revoked handle, or `meta LF id`. Anybody can send such a message, so the server is asked. */
  receive(message: string): void {
    // Without a meta, the id itself may have line feeds.
    const end = this.#watches.has(message) ? -1 : message.indexOf("\n");
    const handle = message.slice(end + 1);
    const watch = this.#watches.get(handle);
    if (watch === undefined) {
      this.#recent.push(message);
      if (this.#recent.length > RECENT) this.#recent.shift();
      return;
    }
    if (end >= 0) watch.by = readMeta(message.slice(0, end));
    this.check(handle);
  }

  /** Receives the remembered message about a handle again, if any. */
  recall(handle: string): void {
    const message = this.#recent.find((message) => message === handle || message.endsWith(`\n${handle}`));
    if (message !== undefined) this.receive(message);
  }

  /** Asks the server about one handle, or about all: messages are lost while the subscription is down. */
  check(handle?: string): void {
    const watches = handle === undefined ? [...this.#watches.values()] : [this.#watches.get(handle)];
    // If the server cannot be asked now, the next renewal finds out.
    for (const watch of watches) watch?.held().then((held) => held || watch.revoked(), () => {});
  }
}
