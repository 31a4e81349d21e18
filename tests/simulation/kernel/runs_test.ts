// Deno only: it listens to the events of rejections.
import { assertEquals, assertRejects } from "@std/assert";
import { assertNoticed, attended, firstSeeds, type Play, reportOf } from "./runs.ts";

/** Is broken by its third seed alone. */
const play: Play = (seed) => Promise.resolve({ violations: seed === 3 ? ["two holders: a"] : [], granted: 1 });

Deno.test("assertNoticed() throws unless a run is broken in that way", async () => {
  await assertNoticed(play, firstSeeds(3), /^two holders/);
  await assertRejects(() => assertNoticed(play, firstSeeds(2), /./), Error, "not noticed in 2 runs");
  await assertRejects(() => assertNoticed(play, firstSeeds(3), /^no holder/), Error, "not noticed in 3 runs");
});

Deno.test("attended() finds a rejection that nobody handles", async () => {
  const { violations } = await attended((seed) => {
    void Promise.reject(new Error("dropped"));
    return play(seed);
  }, 3);
  assertEquals(violations, ["two holders: a", "unhandled rejection: Error: dropped"]);
});

Deno.test("reportOf() ends with what is wrong, and how to play it again", () => {
  const log = Array.from({ length: 500 }, (_, i) => `line ${i}`);
  const lines = reportOf(7, ["two holders: a"], log, "--world handoff").split("\n");
  assertEquals([lines[0], lines.length], ["line 0", 126]);
  assertEquals(lines.slice(-4), [
    "",
    "Seed 7 fails:",
    "  two holders: a",
    "Again: deno task sim --world handoff --seeds 1 --from 7 --verbose",
  ]);
});
