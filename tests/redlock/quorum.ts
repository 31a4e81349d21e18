import { assert } from "@std/assert";
import type { Claim } from "../../src/contract/store.ts";
import { coordinators } from "../../src/redlock/attempt/coordinators.ts";
import { nodeTimeoutOf } from "../../src/redlock/options.ts";
import { RedlockStore } from "../../src/redlock/store.ts";
import { settled, VirtualClock } from "../support/virtual_clock.ts";
import { FaultyNode } from "./faulty_node.ts";

/** The usual lease of claims, in milliseconds. */
export const LEASE = 30_000;

/** How long a node may take to answer then, in milliseconds. */
export const NODE_TIMEOUT = nodeTimeoutOf(LEASE);

/** Nodes that can fail, and stores on them. */
export interface Quorum {
  readonly clock: VirtualClock;
  /** In the order in which they coordinate the name "a". */
  readonly nodes: readonly FaultyNode[];
  readonly store: RedlockStore;
  /** Makes another store on the same nodes. */
  readonly open: () => RedlockStore;
}

/** Makes nodes that can fail, and a store on them. */
export function quorum(n: number): Quorum {
  const clock = new VirtualClock();
  const nodes = Array.from({ length: n }, () => new FaultyNode(clock));
  const settings = { nodeTimeout: undefined, maxClockSkew: 10_000, driftFactor: 0.01, observer: undefined };
  const open = () => new RedlockStore(nodes, settings, clock, () => 0.5);
  const order = coordinators("a", n).map((i) => nodes[i]!);
  return { clock, nodes: order, open, store: open() };
}

/** An exclusive claim of a fresh owner. */
export function claimOf(name = "a", lease = LEASE): Claim {
  return { name, owner: crypto.randomUUID(), mode: "exclusive", lease };
}

/** What a promise comes to, while the clock goes on; and after how many milliseconds. */
export async function after<T>(clock: VirtualClock, promise: Promise<T>): Promise<{ result: T | Error; ms: number }> {
  let result: { of: T | Error } | undefined;
  promise.then((value) => result = { of: value }, (error: Error) => result = { of: error });
  await settled();
  let ms = 0;
  for (; result === undefined; ms++) {
    assert(ms < 120_000, "it hangs");
    await clock.advance(1);
  }
  return { result: result.of, ms };
}
