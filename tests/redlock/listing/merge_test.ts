import { assertEquals } from "@std/assert";
import { merge } from "../../../src/redlock/listing/merge.ts";
import { freshId, ownerOf } from "../../../src/redlock/attempt/round_id.ts";
import type { HolderEntry, Snapshot } from "../../../src/contract/store.ts";

const ID = "5b2c5d8e-6a0f-4b1c-9d3e-2f1a0b9c8d7e";

/** What a node lists of one holder. */
function node(entry: Partial<HolderEntry> = {}): Snapshot {
  const owner = entry.owner ?? freshId("me");
  return { held: [{ name: "a", handle: owner, mode: "exclusive", ...entry, owner }], pending: [] };
}

Deno.test("ownerOf() removes the id of a round, and nothing else", () => {
  assertEquals(ownerOf(freshId(ID)), ID);
  assertEquals(ownerOf(freshId(`client:${ID}`)), `client:${ID}`);
  for (const id of [ID, "me", "", "a:b", `${ID}:not-a-uuid`]) assertEquals(ownerOf(id), id);
});

Deno.test("merge() lists the median of when the nodes have granted the lock", () => {
  const since = (...moments: (number | undefined)[]) =>
    merge(moments.map((moment) => node({ since: moment })), 2).held[0]?.since;
  assertEquals(since(5, 900, 7), 7);
  assertEquals(since(900, undefined, 7), 7);
  assertEquals(since(undefined, undefined, undefined), undefined);
});

Deno.test("merge() lists the fence of a majority, or none", () => {
  const fence = (...fences: (bigint | undefined)[]) => merge(fences.map((fence) => node({ fence })), 2).held[0]?.fence;
  assertEquals(fence(3n, 9n, 3n), 3n);
  assertEquals(fence(3n, 9n, undefined), undefined);
});

Deno.test("merge() does not count a lease that has ended, nor two rounds of one node twice", () => {
  assertEquals(merge([node({ expiresIn: 0 }), node({ expiresIn: 5 }), undefined], 2).held, []);
  const twice = { held: [...node().held, ...node().held], pending: [] };
  assertEquals(merge([twice, undefined, undefined], 2).held, []);
});

Deno.test("merge() lists each of those that share a lock", () => {
  const shared = (owner: string) => node({ owner: freshId(owner), mode: "shared" }).held;
  const snapshot = () => ({ held: [...shared("one"), ...shared("two")], pending: [] });
  const { held } = merge([snapshot(), snapshot(), snapshot()], 2);
  assertEquals(held.map(({ owner, mode }) => [owner, mode]), [["one", "shared"], ["two", "shared"]]);
});
