import { assert, assertEquals } from "@std/assert";
import { dotPlot } from "./peers/dot_plot.ts";
import type { Outcome, Result } from "./peers/outcome.ts";
import { pictures } from "./peers/pictures.ts";
import { table } from "./peers/table.ts";

const { outcomes, ...machine } = JSON.parse(await Deno.readTextFile(new URL("peers/report.json", import.meta.url)));

interface Box {
  readonly content: string;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** Returns where each text of a picture is, if its letters are as wide as those of a wide font. */
function boxes(svg: string): Box[] {
  return Array.from(svg.matchAll(/<text ([^>]*)>([^<]*)</g), ([, attributes = "", content = ""]) => {
    const get = (name: string) => attributes.match(new RegExp(`${name}="([^"]*)"`))?.[1];
    const [x, y, size] = ["x", "y", "font-size"].map((name) => Number(get(name)));
    const width = content.length * size! * 0.6;
    const left = x! - (get("text-anchor") === "end" ? width : get("text-anchor") === "middle" ? width / 2 : 0);
    return { content, left, right: left + width, top: y! - size!, bottom: y! };
  });
}

function assertLegible(svg: string): void {
  const [, width, height] = svg.match(/viewBox="0 0 (\d+) (\d+)"/)!.map(Number);
  const all = boxes(svg);
  for (const [place, box] of all.entries()) {
    const inside = box.left >= 0 && box.top >= 0 && box.right <= width! && box.bottom <= height!;
    assert(inside, `${box.content} is outside`);
    for (const other of all.slice(place + 1)) {
      const apart = box.right <= other.left || other.right <= box.left || box.bottom <= other.top ||
        other.bottom <= box.top;
      assert(apart, `"${box.content}" and "${other.content}" overlap`);
    }
  }
}

/** Returns a table with one line for each library, and its values by the keys of the columns. */
function outcome(row: string, lines: Record<string, Result["values"]>): Outcome {
  const results = Object.entries(lines).map(([id, values]) => ({ id, title: `${id} 1.0`, settings: "", values }));
  const keys = [...new Set(results.flatMap(({ values }) => Object.keys(values)))];
  return { row, title: row, best: "least", columns: keys.map((key) => ({ key, title: key, unit: "" })), results };
}

Deno.test("pictures() draws texts that are inside of the canvas and do not overlap", () => {
  const drawn = pictures(machine, outcomes);
  assertEquals([...drawn.keys()], ["longest_wait.svg", "handoff.svg"]);
  for (const svg of drawn.values()) assertLegible(svg);
});

Deno.test("dotPlot() keeps apart values that differ by a factor of 10,000", () => {
  const values = [0.04, 1, 399, undefined];
  const rows = ["a", "b"].map((label) => ({ label: label.repeat(30), ours: false, values }));
  const panels = ["1 waiter", "10 waiters", "100 waiters", "1,000 waiters"];
  assertLegible(dotPlot({ title: "title", description: "", panels, rows, notes: ["note"] }));
});

Deno.test("dotPlot() escapes what has a meaning in SVG", () => {
  const rows = [{ label: "<a> & b", ours: true, values: [1] }];
  const svg = dotPlot({ title: "p < 1", description: "&", panels: ["1"], rows, notes: [] });
  assert(svg.includes("&lt;a&gt; &amp; b") && svg.includes('<title id="t">p &lt; 1</title>'), svg);
});

Deno.test("dotPlot() has a title, a description and colours for dark pages", () => {
  for (const svg of pictures(machine, outcomes).values()) {
    assert(/<title id="t">.+<\/title>/.test(svg) && /<desc id="d">.+<\/desc>/.test(svg), svg);
    assert(svg.includes("prefers-color-scheme: dark"), svg);
  }
});

Deno.test("pictures() shows each library's best settings, without waits that ended early", () => {
  const contended = outcome("contended", {
    holdfast: { fairness: 1.25, failures: 0 },
    a: { fairness: 9, failures: 0 },
  });
  const more = outcome("contended", { a: { fairness: 7, failures: 0 }, early: { fairness: 1.5, failures: 2 } });
  const both = { ...contended, results: [...contended.results, ...more.results] };
  const svg = pictures(machine, [both, { ...both, row: "processes" }]).get("longest_wait.svg")!;
  const texts = boxes(svg).map(({ content }) => content);
  assertEquals(texts.filter((text) => / 1\.0$/.test(text)), ["holdfast 1.0", "a 1.0", "early 1.0"]);
  assert(texts.includes("1.25") && texts.includes("–"), svg);
  assert(!texts.includes("9") && !texts.includes("1.50"), svg);
});

Deno.test("pictures() leaves out what was not measured", () => {
  assertEquals([...pictures(machine, []).keys()], []);
});

Deno.test("docs/pictures/ are drawn from tools/peers/report.json", async () => {
  for (const [file, svg] of pictures(machine, outcomes)) {
    const stored = await Deno.readTextFile(new URL(`../docs/pictures/${file}`, import.meta.url));
    assertEquals(stored, svg, `${file} is stale: deno task bench:pictures`);
  }
});

Deno.test("tools/peers/report.json has the figures of report.md", async () => {
  const text = await Deno.readTextFile(new URL("peers/report.md", import.meta.url));
  for (const outcome of outcomes) {
    const there = text.slice(text.indexOf(`### ${outcome.title}\n`));
    assertEquals(cells(there).slice(0, cells(table(outcome)).length), cells(table(outcome)));
  }
});

/** Returns the cells of a table, without the trailing zeros of its numbers. */
function cells(markdown: string): string[] {
  return markdown.split(/[|\n]/).map((cell) => cell.trim().replaceAll(/-+/g, "-")).filter((cell) => cell !== "")
    .map((cell) => /^[\d.,]+$/.test(cell) ? String(Number(cell.replaceAll(",", ""))) : cell);
}
