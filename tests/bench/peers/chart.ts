import { parse, View } from "vega";
import { compile, type TopLevelSpec } from "vega-lite";
import type { Outcome, Result } from "./outcome.ts";
import { WAITERS } from "./rows/handoff.ts";

/** How wide and how high each part is, in pixels. */
const WIDTH = 420;
const HEIGHT = 300;

/** The colour of this library, of all others where one is enough, and of each of them. */
const OURS = "#d1495b";
const OTHERS = "#8d99ae";
const EACH = [
  "#4c78a8",
  "#f58518",
  "#54a24b",
  "#b279a2",
  "#72b7b2",
  "#eeca3b",
  "#9d755d",
  "#7f7f7f",
  "#17becf",
  "#1f3b73",
];

/** Where bars begin, in milliseconds: a logarithm has no zero. */
const LEAST = 100;

/** Draws the handoffs against the number of waiters, and the contended time of each library, as SVG. */
export async function chart(outcomes: readonly Outcome[]): Promise<string | undefined> {
  const parts = outcomes.flatMap((outcome) => {
    if (outcome.row === "handoff") return [handoffs(outcome)];
    return outcome.row === "contended" ? [contended(outcome)] : [];
  });
  if (parts.length === 0) return undefined;
  const spec: TopLevelSpec = {
    background: "white",
    padding: 12,
    config: { font: "sans-serif", view: { stroke: null }, axis: { gridColor: "#eeeeee", domainColor: "#999999" } },
    hconcat: parts,
    resolve: { scale: { color: "independent" } },
  } as TopLevelSpec;
  return await new View(parse(compile(spec).spec), { renderer: "none" }).toSVG();
}

function handoffs({ title, results }: Outcome): object {
  const values = results.flatMap((result) =>
    WAITERS.flatMap((waiters) => {
      const ms = result.values[`p50:${waiters}`];
      return ms === undefined ? [] : [{ waiters, ms, ...names(result) }];
    })
  );
  const others = [...new Set(results.filter(({ id }) => id !== "holdfast").map(({ title }) => title))];
  const ours = [...new Set(results.filter(({ id }) => id === "holdfast").map(({ title }) => title))];
  const domain = [...ours, ...others];
  const range = [...ours.map(() => OURS), ...others.map((_, place) => EACH[place % EACH.length])];
  return {
    title,
    width: WIDTH,
    height: HEIGHT,
    data: { values },
    mark: { type: "line", point: { size: 18 } },
    encoding: {
      x: {
        field: "waiters",
        type: "quantitative",
        scale: { type: "log" },
        axis: { title: "waiters", values: WAITERS },
      },
      y: { field: "ms", type: "quantitative", scale: { type: "log" }, axis: { title: "p50, ms", format: "~g" } },
      color: {
        field: "library",
        type: "nominal",
        scale: { domain, range },
        legend: { title: "dashed: tuned", labelLimit: 400 },
      },
      detail: { field: "name", type: "nominal" },
      strokeDash: {
        ...{ field: "tuned", type: "nominal", legend: null },
        scale: { domain: [false, true], range: [[1, 0], [4, 3]] },
      },
      strokeWidth: { condition: { test: "datum.ours", value: 3.5 }, value: 1.2 },
    },
  };
}

function contended({ title, results }: Outcome): object {
  const values = results.flatMap((result) => {
    const { total, failures = 0 } = result.values;
    if (total === undefined) return [];
    return [{ ms: total, gaveUp: failures > 0 ? " (gave up some)" : "", ...names(result) }];
  });
  return {
    title,
    width: WIDTH,
    height: HEIGHT,
    data: { values },
    transform: [{ calculate: "datum.name + datum.gaveUp", as: "label" }],
    mark: { type: "bar" },
    encoding: {
      y: { field: "label", type: "nominal", sort: { field: "ms", op: "min" }, axis: { title: null, labelLimit: 400 } },
      x: {
        ...{ field: "ms", type: "quantitative", stack: null },
        ...{ scale: { type: "log", domainMin: LEAST }, axis: { title: "ms", format: "~s" } },
      },
      x2: { datum: LEAST },
      color: { field: "ours", type: "nominal", scale: { domain: [false, true], range: [OTHERS, OURS] }, legend: null },
    },
  };
}

function names({ id, title, settings }: Result): { name: string; library: string; ours: boolean; tuned: boolean } {
  const tuned = settings !== "" && settings !== "defaults";
  return { name: tuned ? `${title}, tuned` : title, library: title, ours: id === "holdfast", tuned };
}
