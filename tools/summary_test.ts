import { assertEquals } from "@std/assert";
import type { Outcome, Result } from "./peers/outcome.ts";
import { summary } from "./peers/summary.ts";

function outcome(row: string, best: Outcome["best"], lines: [string, Result["values"]][]): Outcome {
  const results = lines.map(([id, values]) => ({ id, title: `${id} 1.0`, settings: "", values }));
  return { row, title: row, best, columns: [{ key: "total", title: "time", unit: "ms" }], results };
}

/** Returns the cells of the lines, without the head. */
function cells(outcomes: Outcome[]): string[][] | undefined {
  return summary(outcomes)?.split("\n").slice(2).map((line) => line.split("|").slice(2, -1).map((cell) => cell.trim()));
}

Deno.test("summary() sets each measure beside the best of the others", () => {
  const free = outcome("uncontended", "most", [
    ["bare", { ratio: 1 }],
    ["holdfast", { ratio: 0.85 }],
    ["slow", { ratio: 0.5 }],
    ["slow", { ratio: 0.8 }],
    ["fast", { ratio: 0.97 }],
  ]);
  assertEquals(cells([free]), [["0.85", "0.97 (fast 1.0)", "2 of 3"]]);
  const contended = outcome("contended", "least", [
    ["holdfast", { total: 300, fairness: 1.1 }],
    ["gaveUp", { total: 1, fairness: 1, failures: 3 }],
    ["cut", {}],
    ["fair", { total: 400, fairness: 5 }],
  ]);
  assertEquals(cells([contended]), [
    ["300", "400 (fair 1.0)", "1 of 2"],
    ["1.10", "5 (fair 1.0)", "1 of 2"],
  ]);
});

Deno.test("summary() has nothing to say of rows without this library", () => {
  assertEquals(summary([]), undefined);
  assertEquals(summary([outcome("idle", "least", [["other", { commands: 1 }]])]), undefined);
});

Deno.test("summary() has a table for each setting of this library that takes part", () => {
  const lines: [string, Result["values"]][] = [
    ["holdfast", { total: 300 }],
    ["holdfast-linger", { total: 100 }],
    ["fast", { total: 200 }],
  ];
  const [byDefault, linger, ...rest] = summary([outcome("processes", "least", lines)])!.split("\n\n");
  assertEquals(rest, []);
  assertEquals(byDefault!.split("\n").at(-1), "| 8 processes: time, ms | 300      | 200 (fast 1.0)     | 2 of 2 |");
  assertEquals(
    linger!.split("\n").at(-1)!.replaceAll(/ +/g, " "),
    "| 8 processes: time, ms | 100 | 200 (fast 1.0) | 1 of 2 |",
  );
});
