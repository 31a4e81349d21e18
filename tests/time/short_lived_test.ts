import { assertEquals } from "@std/assert";
import { ShortLivedMap, ShortLivedSet } from "../../src/time/short_lived.ts";

Deno.test("ShortLivedMap has the entries of a Map, in its order, whatever is deleted", () => {
  const [ours, model] = [new ShortLivedMap<number, string>(), new Map<number, string>()];
  for (let i = 0; i < 1_000; i++) {
    ours.set(i, `${i}`);
    model.set(i, `${i}`);
    // Of each ten, seven go at once, and others later; one is deleted twice.
    for (const gone of [i % 10 < 7 ? i : -1, i - 50, i - 50]) {
      assertEquals(ours.delete(gone), model.delete(gone));
    }
    assertEquals([ours.size, ours.get(i), ours.get(i - 9)], [model.size, model.get(i), model.get(i - 9)]);
  }
  assertEquals([[...ours.keys()], [...ours.values()]], [[...model.keys()], [...model.values()]]);
});

Deno.test("ShortLivedMap forgets what is useless, and looks for it when it has doubled", () => {
  let looks = 0;
  const map = new ShortLivedMap<number, "kept" | "ageing" | "useless">((value, old) => {
    if (looks++ < 2_000) map.set(1_999, "ageing"); // Meanwhile it is not pruned again.
    return value === "useless" || value === "ageing" && old;
  });
  for (let i = 0; i < 2_000; i++) map.set(i, i < 500 || i >= 1_500 ? "ageing" : "useless");
  assertEquals([map.size, looks], [2_000, 0]);
  map.set(2_000, "kept");
  assertEquals([map.size, looks, map.has(499), map.has(1_500)], [501, 2_000, false, true]);
  for (let i = 2_001; i < 5_000; i++) map.set(i, "kept");
  assertEquals([map.size, looks, map.has(1_999)], [3_000, 4_000, false]);
  for (let i = 5_000; i < 8_000; i++) map.set(i, "kept");
  assertEquals([map.size, looks], [6_000, 7_000]);
});

Deno.test("ShortLivedSet has each member once, in the order in which they came", () => {
  const [ours, model] = [new ShortLivedSet<number>(), new Set<number>()];
  for (let i = 0; i < 500; i++) {
    ours.add(i).add(i);
    model.add(i);
    if (i % 5 > 0) assertEquals(ours.delete(i), model.delete(i));
  }
  assertEquals([ours.size, [...ours]], [model.size, [...model]]);
});
