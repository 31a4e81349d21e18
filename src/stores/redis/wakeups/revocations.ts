import { calledOrAborted } from "../../../internal/time/aborted.ts";
import { readMeta } from "../../../internal/process/meta.ts";
import type { Meta } from "../../../store.ts";

/** A handle that watches whether its lock is taken away. */
interface Watch {
  /** The `meta` of the revoker, as the last message about it says. */
  by: Meta | undefined;
  /** Called when the lock was revoked. */
  readonly revoked: () => void;
  /** Asks the server whether the handle holds the lock. */
  readonly held: () => Promise<boolean>;
}

/** The handles of a client that watch whether their locks are taken away by steal or evict. */
export class Revocations {
  readonly #watches = new Map<string, Watch>();

  /** How many handles watch. */
  get size(): number {
    return this.#watches.size;
  }

  /**
   * Resolves when the lock is taken away from a handle, to what describes the one that has done it if that is known; and
   * when the signal aborts.
   *
   * @param handle the id of the handle
   * @param held asks the server whether the handle holds the lock
   * @param signal ends the wait
   */
  wait(handle: string, held: () => Promise<boolean>, signal: AbortSignal): Promise<Meta | void> {
    return calledOrAborted<Meta | undefined>(signal, (call) => {
      const watch: Watch = { by: undefined, revoked: () => call(watch.by), held };
      this.#watches.set(handle, watch);
      return () => void this.#watches.delete(handle);
    });
  }

  /**
   * Receives the id of a handle whose lock was taken away, or `meta LF id` with what describes the one that has done it. Any
   * user of the channel can send one, so the server is asked.
   */
  receive(message: string): void {
    // Without a meta, the id itself may have line feeds.
    const end = this.#watches.has(message) ? -1 : message.indexOf("\n");
    const handle = message.slice(end + 1);
    const watch = this.#watches.get(handle);
    if (watch === undefined) return;
    if (end >= 0) watch.by = readMeta(message.slice(0, end));
    this.check(handle);
  }

  /** Asks the server about one handle, or about all of them: messages are lost while the subscription is down. */
  check(handle?: string): void {
    const watches = handle === undefined ? [...this.#watches.values()] : [this.#watches.get(handle)];
    // If the server cannot be asked now, the next renewal finds out.
    for (const watch of watches) watch?.held().then((held) => held || watch.revoked(), () => {});
  }
}
