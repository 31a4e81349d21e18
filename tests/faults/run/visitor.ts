import { HandoffStore } from "../../../src/handoff/handoff_store.ts";
import { SystemClock } from "../../../src/time/clock.ts";
import type { Store } from "../../../src/contract/store.ts";
import type { Access } from "./access.ts";
import type { Witness } from "./witness.ts";

/** A store object of its own over clients of its own, which knows nothing yet: as in a process that has just begun. */
export class Visitor {
  readonly store: Store;
  readonly #access: Access;

  constructor(access: Access, witness: Witness) {
    this.#access = access;
    const kept = witness.watch(access.store);
    const runs = kept.capabilities?.includes("runs") ?? false;
    this.store = witness.watchHandles(runs ? new HandoffStore(kept, new SystemClock()) : kept);
  }

  /** Leaves nothing behind, as a process that comes to its end. */
  async end(): Promise<void> {
    if (this.store instanceof HandoffStore) await this.store.stop();
    this.#access.close();
  }

  /** Leaves all that it holds, as a process that is killed. */
  die(): void {
    this.#access.close();
  }
}
