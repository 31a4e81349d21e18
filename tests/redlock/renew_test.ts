import { assert, assertEquals, assertRejects } from "@std/assert";
import { QuorumError } from "@holdfast/lock";
import { RedlockStore } from "../../src/redlock/store.ts";
import { settled, VirtualClock } from "../support/virtual_clock.ts";
import { FaultyNode } from "./faulty_node.ts";

const claim = { name: "a", owner: crypto.randomUUID(), mode: "exclusive", lease: 10_000 } as const;

/** A lock on five nodes, of which the last `lost` have lost it, and those before them that are `failing` fail. */
async function renewal(lost: number, failing: number): Promise<string> {
  const clock = new VirtualClock();
  const nodes = Array.from({ length: 5 }, () => new FaultyNode(clock));
  const settings = { nodeTimeout: 100, maxClockSkew: 10_000, driftFactor: 0.01, observer: undefined };
  const store = new RedlockStore(nodes, settings, clock, () => 0.5);
  assertEquals((await store.attempt(claim, { enqueue: false })).granted, true);
  for (const node of nodes.slice(5 - lost)) await node.loseLock();
  for (const node of nodes.slice(5 - lost - failing, 5 - lost)) node.condition = "failing";
  return await store.renew(claim);
}

Deno.test("RedlockStore.renew() renews what a majority of the nodes has renewed", async () => {
  assertEquals(await renewal(0, 0), "renewed");
  assertEquals(await renewal(2, 0), "renewed");
  assertEquals(await renewal(0, 2), "renewed");
});

Deno.test("RedlockStore.renew() is lost when a majority has lost the lock", async () => {
  assertEquals(await renewal(3, 0), "lost");
  assertEquals(await renewal(3, 2), "lost");
});

Deno.test("RedlockStore.renew() rejects when no majority has renewed or lost the lock", async () => {
  await assertRejects(() => renewal(0, 3), QuorumError);
  await assertRejects(() => renewal(2, 1), QuorumError);
});

Deno.test("RedlockStore.renew() gives back what nodes renew after the round was forgotten", async () => {
  const [clock, theirs] = [new VirtualClock(), new VirtualClock()];
  const nodes = Array.from({ length: 3 }, () => new FaultyNode(theirs));
  const settings = { nodeTimeout: 100, maxClockSkew: 10_000, driftFactor: 0.01, observer: undefined };
  const store = new RedlockStore(nodes, settings, clock, () => 0.5);
  assert((await store.attempt(claim, { enqueue: false })).granted);
  for (const node of nodes) node.condition = "hanging";
  const renewal = store.renew(claim);
  // The client's clock alone is set: for the nodes the lease goes on.
  clock.setWall(3 * claim.lease);
  const asked = store.attempt({ ...claim, name: "b", owner: crypto.randomUUID() }, { enqueue: false });
  for (const node of nodes) node.condition = "healthy";
  assertEquals(await renewal, "lost");
  assert((await asked).granted);
  await settled();
  assertEquals(nodes.flatMap((node) => node.names), ["b", "b", "b"]);
});
