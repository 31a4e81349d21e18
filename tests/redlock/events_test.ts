import { assert, assertEquals } from "@std/assert";
import type { LockEvent } from "@holdfast/lock";
import { acquireFrom } from "../../src/lock/acquisition.ts";
import { checkAcquireOptions } from "../../src/lock/options.ts";
import { quorum } from "./quorum.ts";

Deno.test("RedlockStore notifies of its handles, not of the rounds or the nodes", async () => {
  const { clock, nodes, store } = quorum(3);
  const events: LockEvent[] = [];
  Object.assign(store, { observer: (event: LockEvent) => events.push(event) });
  const get = (wait: number) => acquireFrom(store, "a", checkAcquireOptions({ wait }), clock);
  const first = await get(0);
  const late = get(500).catch((error: unknown) => error);
  await clock.advance(600);
  assert(await late instanceof Error);
  nodes[2]!.condition = "failing";
  await first!.release();
  const second = await get(0);
  for (const node of nodes) node.condition = "failing";
  const none = get(0).catch((error: unknown) => error);
  await clock.advance(5_000);
  assert(await none instanceof Error);
  for (const node of nodes) {
    node.condition = "healthy";
    node.wipe();
  }
  await clock.advance(20_000);
  assert(!second!.held);
  const types = ["acquired", "waiting", "gave_up", "released", "acquired", "fault", "gave_up", "lost"];
  assertEquals(events.map(({ type }) => type), types);
  for (const { owner, handle } of events) {
    assertEquals(handle, owner);
    assert(/^[0-9a-f-]{36}$/.test(owner), owner);
  }
  assertEquals(events.at(-1)?.owner, second!.owner);
});
