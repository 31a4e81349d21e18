import { assertEquals } from "@std/assert";
import { ShortLivedMap, ShortLivedSet } from "../../../src/internal/process/short_lived.ts";

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

Deno.test("ShortLivedSet has each member once, in the order in which they came", () => {
  const [ours, model] = [new ShortLivedSet<number>(), new Set<number>()];
  for (let i = 0; i < 500; i++) {
    ours.add(i).add(i);
    model.add(i);
    if (i % 5 > 0) assertEquals(ours.delete(i), model.delete(i));
  }
  assertEquals([ours.size, [...ours]], [model.size, [...model]]);
});
