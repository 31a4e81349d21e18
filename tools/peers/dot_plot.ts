import { show } from "../../bench/report.ts";

/** A picture: the rows share one logarithmic scale, in one panel for each circumstance. */
export interface Plot {
  readonly title: string;
  /** What the picture shows, for readers who cannot see it. */
  readonly description: string;
  readonly panels: readonly string[];
  readonly rows: readonly PlotRow[];
  /** Lines below the picture, such as where the figures come from. */
  readonly notes: readonly string[];
}

/** One line: a label, and a value for each panel. */
export interface PlotRow {
  readonly label: string;
  /** Whether it is drawn in the accent colour. */
  readonly ours: boolean;
  /** Larger than 0; `undefined`: it was not measured. */
  readonly values: readonly (number | undefined)[];
}

/** All sizes are in pixels. */
const WIDTH = 860;
const MARGIN = 16;
const GAP = 16;
const ROW = 26;
const NOTE = 20;
const TOP = 84;
const FONT = { title: 16, label: 14, small: 13 } as const;

/** The width of a letter as a part of the font's size: more than that of any common font, on average. */
const LETTER = 0.6;

/** The space for the value to the right of a dot. */
const VALUE = 50;

/** The width of a decade in which its ticks at 2 and 5 have room, and the least distance of other ticks. */
const FULL_DECADE = 90;
const TICK_DISTANCE = 26;

const STYLE = `
    svg { font-family: system-ui, sans-serif }
    .canvas { fill: #ffffff } .grid { stroke: #d9dee5 } .dot { fill: #7b8794 }
    text { fill: #1f2933 } .muted { fill: #52606d } .ours { fill: #b42318; font-weight: 700 }
    @media (prefers-color-scheme: dark) {
      .canvas { fill: #0d1117 } .grid { stroke: #30363d } .dot { fill: #8b949e }
      text { fill: #e6edf3 } .muted { fill: #9da7b3 } .ours { fill: #ff7b72 }
    }
  `;

/** Where the values are on the canvas. */
interface Scale {
  readonly left: number;
  readonly panel: number;
  readonly ticks: readonly number[];
  /** The position of a value in a panel. */
  readonly x: (value: number, panel: number) => number;
}

/** Draws dots with their values beside them, as SVG that is legible on light and on dark pages. */
export function dotPlot(plot: Plot): string {
  const { title, description, rows, notes } = plot;
  const scale = scaleOf(plot);
  const bottom = TOP + rows.length * ROW;
  const height = bottom + 36 + notes.length * NOTE;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="t d">`,
    `  <title id="t">${escape(title)}</title>`,
    `  <desc id="d">${escape(description)}</desc>`,
    `  <style>${STYLE}</style>`,
    `  <rect class="canvas" width="${WIDTH}" height="${height}" />`,
    text({ x: MARGIN, y: 28, size: FONT.title, content: title }),
    ...plot.panels.flatMap((name, panel) => frame(name, panel, scale, bottom)),
    ...rows.flatMap((row, place) => line(row, TOP + (place + 0.5) * ROW, scale)),
    ...notes.map((content, place) => {
      return text({ x: MARGIN, y: bottom + 44 + place * NOTE, size: FONT.small, content, style: "muted" });
    }),
    "</svg>\n",
  ].join("\n");
}

/** Gives each panel the same width, and room for the values beside the largest dots. */
function scaleOf({ panels, rows }: Plot): Scale {
  const letters = Math.max(...rows.map(({ label }) => label.length));
  const left = MARGIN + letters * FONT.label * LETTER + GAP;
  const panel = (WIDTH - left - MARGIN - (panels.length - 1) * GAP) / panels.length;
  const values = rows.flatMap(({ values }) => values.filter((value) => value !== undefined));
  const first = Math.floor(Math.log10(Math.min(...values)));
  const last = Math.max(Math.log10(Math.max(...values)), first + 1);
  const inset = 8;
  const decade = (panel - inset - VALUE) / (last - first);
  const steps = decade < FULL_DECADE ? [1] : [1, 2, 5];
  const powers = Array.from({ length: Math.floor(last) - first + 1 }, (_, place) => 10 ** (first + place));
  const some = powers.filter((_, place) => place % Math.ceil(TICK_DISTANCE / decade) === 0);
  const ticks = some.flatMap((power) => steps.map((step) => step * power)).filter((tick) => tick <= 10 ** last);
  return {
    left,
    panel,
    ticks,
    x: (value, place) => {
      return left + place * (panel + GAP) + inset + (Math.log10(value) - first) * decade;
    },
  };
}

/** The heading, the grid and the ticks of a panel. */
function frame(name: string, panel: number, { left, panel: width, ticks, x }: Scale, bottom: number): string[] {
  const heading = { x: left + panel * (width + GAP) + 8, y: TOP - 16, size: FONT.small, content: name };
  return [
    text({ ...heading, style: "muted" }),
    ...ticks.flatMap((tick) => {
      const at = round(x(tick, panel));
      const label = { x: x(tick, panel), y: bottom + 18, size: FONT.small, content: tick.toLocaleString("en") };
      return [
        `  <line class="grid" x1="${at}" y1="${TOP - 6}" x2="${at}" y2="${bottom}" />`,
        text({ ...label, style: "muted", anchor: "middle" }),
      ];
    }),
  ];
}

/** The label of a row, and its dots with their values. */
function line({ label, ours, values }: PlotRow, y: number, scale: Scale): string[] {
  const style = ours ? "ours" : undefined;
  const name = text({ x: scale.left - GAP, y: y + 5, size: FONT.label, content: label, anchor: "end", style });
  const dots = values.flatMap((value, panel) => {
    if (value === undefined) {
      return [text({ x: scale.x(scale.ticks[0]!, panel), y: y + 5, size: FONT.small, content: "–", style: "muted" })];
    }
    const x = scale.x(value, panel);
    const content = show({ value, unit: "" });
    return [
      `  <circle class="${ours ? "ours" : "dot"}" cx="${round(x)}" cy="${y}" r="${ours ? 6 : 5}" />`,
      text({ x: x + 10, y: y + 5, size: FONT.small, content, style }),
    ];
  });
  return [name, ...dots];
}

interface Text {
  readonly x: number;
  readonly y: number;
  readonly size: number;
  readonly content: string;
  readonly anchor?: "middle" | "end";
  readonly style?: string | undefined;
}

function text({ x, y, size, content, anchor, style }: Text): string {
  const attributes = [
    ...[`x="${round(x)}"`, `y="${y}"`, `font-size="${size}"`],
    ...(anchor === undefined ? [] : [`text-anchor="${anchor}"`]),
    ...(style === undefined ? [] : [`class="${style}"`]),
  ];
  return `  <text ${attributes.join(" ")}>${escape(content)}</text>`;
}

function round(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
