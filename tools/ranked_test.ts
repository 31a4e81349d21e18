import { assertEquals } from "@std/assert";
import { type Outcome, ranked } from "./peers/outcome.ts";

function outcome(best: Outcome["best"], values: Record<string, Record<string, number>>): Outcome {
  const results = Object.entries(values).map(([id, values]) => ({ id, title: id, settings: "", values }));
  return { row: "row", title: "title", best, columns: [{ key: "ms", title: "time", unit: "ms" }], results };
}

Deno.test("ranked() puts who failed after all who did everything, and who did nothing last", () => {
  const least = outcome("least", { cut: {}, slow: { ms: 9 }, gaveUp: { ms: 1, failures: 2 }, quick: { ms: 3 } });
  assertEquals(ranked(least).map(({ id }) => id), ["quick", "slow", "gaveUp", "cut"]);
  const most = outcome("most", { few: { ms: 1 }, many: { ms: 9, failures: 0 } });
  assertEquals(ranked(most).map(({ id }) => id), ["many", "few"]);
});
