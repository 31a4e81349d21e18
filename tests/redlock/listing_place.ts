import { coordinators } from "../../src/redlock/attempt/coordinators.ts";
import { RedlockStore } from "../../src/redlock/store.ts";
import type {
  Claim,
  EvictOptions,
  HolderEntry,
  QueryOptions,
  Snapshot,
  WaiterEntry,
} from "../../src/contract/store.ts";
import { MemoryStore } from "../../src/stores/memory/store.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

/** How the next calls of a node fail. */
type Fault = () => Promise<never>;

/** The call fails. */
export const failing: Fault = () => Promise.reject(new Error("cut off"));

/** The call is never answered. */
export const hanging: Fault = () => new Promise(() => {});

/** A node in memory whose listing and eviction can fail. */
export class ListedNode extends MemoryStore {
  /** What becomes of the calls. */
  fault: Fault | undefined;

  override query(options?: QueryOptions): Promise<Snapshot> {
    return this.fault?.() ?? super.query(options);
  }

  override evict(name: string, options?: EvictOptions): Promise<number> {
    return this.fault?.() ?? super.evict(name, options);
  }

  /** Loses the lock of this name, as when its key is deleted. */
  async lose(claim: Claim): Promise<void> {
    const { held } = await super.query({ name: claim.name });
    for (const { owner } of held) await this.release({ ...claim, owner });
  }
}

/** Makes a quorum of such nodes on a clock that stands still. */
export function listedQuorum(n = 3) {
  const clock = new VirtualClock();
  const nodes = Array.from({ length: n }, () => new ListedNode(undefined, clock));
  const settings = { nodeTimeout: undefined, maxClockSkew: 10_000, driftFactor: 0.01, observer: undefined };
  const store = new RedlockStore(nodes, settings, clock, () => 0.5);
  return { clock, nodes, store, order: coordinators("a", n).map((i) => nodes[i]!) };
}

/** Reads all pages. Returns what they list, and how many they were. */
export async function pages(
  store: RedlockStore,
  options: QueryOptions,
  between: (page: number) => void | Promise<void> = () => {},
): Promise<{ held: HolderEntry[]; pending: WaiterEntry[]; pages: number }> {
  const held: HolderEntry[] = [];
  const pending: WaiterEntry[] = [];
  let cursor: string | undefined;
  for (let page = 1;; page++) {
    const snapshot = await store.query!({ ...options, cursor });
    held.push(...snapshot.held);
    pending.push(...snapshot.pending);
    cursor = snapshot.cursor;
    if (cursor === undefined) return { held, pending, pages: page };
    await between(page);
  }
}
