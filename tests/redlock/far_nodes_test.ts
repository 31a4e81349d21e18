import { assert, assertEquals } from "@std/assert";
import { nodeTimeoutOf } from "../../src/redlock/options.ts";
import { after, claimOf, quorum } from "./quorum.ts";

const attempt = { enqueue: false };

for (const lease of [1_000, 2_000, 5_000, 30_000]) {
  for (const trip of [60, 300]) {
    Deno.test(`RedlockStore with a lease of ${lease} ms reaches nodes ${trip} ms away`, async () => {
      const { clock, nodes, store } = quorum(3);
      for (const node of nodes) node.trip = trip;
      const claim = claimOf("a", lease);
      const { result, ms } = await after(clock, store.attempt(claim, attempt));
      assert("granted" in result && result.granted, `${result}`);
      assertEquals(ms, trip);
      assertEquals((await after(clock, store.renew(claim))).result, "renewed");
      const waiter = claimOf("a", lease);
      const refused = await after(clock, store.attempt(waiter, { enqueue: true }));
      assert("granted" in refused.result && !refused.result.granted, `${refused.result}`);
      assertEquals((await after(clock, store.release(claim))).result, true);
      const next = await after(clock, store.attempt(waiter, { enqueue: true }));
      assert("granted" in next.result && next.result.granted, `${next.result}`);
      assertEquals((await after(clock, store.release(waiter))).result, true);
    });
  }
}

for (const lease of [2_000, 5_000]) {
  Deno.test(`attempt() for ${lease} ms is granted where each vote takes 600 ms`, async () => {
    const { clock, nodes, store } = quorum(3);
    for (const node of nodes) node.trip = 600;
    const { result } = await after(clock, store.attempt(claimOf("a", lease), attempt));
    assert("granted" in result && result.granted, `${result}`);
  });
}

for (const lease of [300, 1_000, 5_000, 30_000]) {
  Deno.test(`attempt() leaves a third of a lease of ${lease} ms although two nodes hang`, async () => {
    const { clock, nodes, open, store } = quorum(5);
    const [holder, other] = [claimOf("a", lease), open()];
    assert((await other.attempt(holder, attempt)).granted);
    assertEquals((await store.attempt(claimOf("a", lease), attempt)).granted, false, "the name is contended");
    assert(await other.release(holder));
    for (const node of nodes.slice(0, 2)) node.condition = "hanging";
    const { result, ms } = await after(clock, store.attempt(claimOf("a", lease), attempt));
    assert("granted" in result && result.granted, `${result}`);
    assert(ms >= nodeTimeoutOf(lease) && ms <= 2 * nodeTimeoutOf(lease) && ms <= 2 * lease / 3, `${ms} ms`);
  });
}
