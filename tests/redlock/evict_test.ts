import { assert, assertEquals, assertRejects } from "@std/assert";
import { QuorumError } from "@holdfast/lock";
import { grant } from "../support/claims.ts";
import { failing, hanging, listedQuorum } from "./listing_place.ts";
import { after, claimOf } from "./quorum.ts";

Deno.test("evict() revokes a lock that a majority has, and the next fence is larger", async () => {
  const { store } = listedQuorum();
  assertEquals(await store.evict!("a"), 0);
  const [holder, next] = [claimOf(), claimOf()];
  const fence = await grant(store, holder);
  assertEquals(await store.evict!("a"), 1);
  assert(await grant(store, next) > fence);
  assertEquals(await store.renew(holder), "lost");
  assertEquals(await store.release(holder), false);
  assertEquals(await store.renew(next), "renewed");
  assert(await store.release(next));
});

Deno.test("evict() counts no vote of a minority", async () => {
  const { order, store } = listedQuorum();
  const claim = claimOf();
  await grant(store, claim);
  for (const node of order.slice(1)) await node.lose(claim);
  assertEquals(await store.evict!("a"), 0);
});

Deno.test("evict() with a handle or a fence takes the lock from that holder alone", async () => {
  const { order, store } = listedQuorum();
  const [former, holder] = [claimOf(), claimOf()];
  const before = await grant(store, former);
  await store.release(former);
  const fence = await grant(store, holder);
  const [handle, other] = [holder.owner, former.owner];
  for (const named of [{ handle: other }, { fence: before }, { handle, fence: before }, { handle: other, fence }]) {
    assertEquals(await store.evict!("a", named), 0);
    assertEquals(await store.renew(holder), "renewed");
  }
  await order[0]!.lose(holder);
  assertEquals(await store.evict!("a", { handle, fence }), 1, "a majority has it");
  assertEquals(await store.renew(holder), "lost");
  const next = claimOf();
  const last = await grant(store, next);
  assertEquals(await store.evict!("a", { fence: last }), 1);
  assertEquals(await store.renew(next), "lost");
  for (const node of order) assertEquals((await node.query()).held, []);
});

for (const [how, fault] of [["fails", failing], ["hangs", hanging]] as const) {
  Deno.test(`evict() overcomes a node that ${how}, and no renewal restores the lock`, async () => {
    const { clock, order, store } = listedQuorum();
    const claim = claimOf();
    await grant(store, claim);
    order[2]!.fault = fault;
    const { result } = await after(clock, store.evict!("a"));
    assertEquals(result, 1);
    order[2]!.fault = undefined;
    assertEquals(await store.renew(claim), "lost");
    await clock.advance(1_000);
    for (const node of order.slice(0, 2)) assertEquals((await node.query()).held, []);
    assertEquals((await store.query!()).held, []);
    const next = claimOf();
    await grant(store, next);
    assert(await store.release(next));
  });
}

Deno.test("evict() counts a handle whose other vote may be on a node that fails", async () => {
  const { order, store } = listedQuorum();
  const claim = claimOf();
  await grant(store, claim);
  await order[1]!.lose(claim);
  order[2]!.fault = failing;
  assertEquals(await store.evict!("a"), 1);
});

Deno.test("evict() needs a majority of the nodes", async () => {
  const { order, store } = listedQuorum();
  await grant(store, claimOf());
  for (const node of order.slice(1)) node.fault = failing;
  const words = `Cannot evict lock "a" on 2 of 3 nodes`;
  await assertRejects(() => store.evict!("a"), QuorumError, words);
});
