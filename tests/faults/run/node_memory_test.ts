// Deno only: it tests a tool for Deno.
import { assert } from "@std/assert";
import type { Look } from "./look.ts";
import { NodeMemory } from "./node_memory.ts";

Deno.test("NodeMemory.putBack() finds a lock restored without a majority after other votes", () => {
  const asking = { lastFence: 5n, unanswered: new Map([[0, 0], [1, 0], [2, 1]]) };
  const lost = { present: false, held: false, counter: 6n };
  const back = { present: true, held: true, counter: 6n };
  const memory = () => new NodeMemory(asking);
  const seen = (node: number, before: Look, after: readonly (Look | undefined)[]) => {
    const one = memory();
    assert(!one.putBack(node, after.map((look, i) => i === node ? before : look)), "it is not there");
    return one.putBack(node, after);
  };
  assert(seen(1, lost, [lost, back, lost]), "nobody else has it");
  assert(seen(1, lost, [back, back, lost]), "one other has it");
  assert(!seen(1, lost, [back, back, back]), "a majority has kept it");
  assert(!seen(1, lost, [back, back, undefined]), "a majority may have kept it");
  assert(!seen(0, { ...lost, counter: 5n }, [back, lost, lost]), "nobody else has asked");
  assert(!seen(2, lost, [lost, lost, back]), "its vote may yet come");
  const once = memory();
  const looks = [lost, back, lost];
  once.putBack(1, [lost, lost, lost]);
  assert(once.putBack(1, looks) && !once.putBack(1, looks), "reported once");
});
