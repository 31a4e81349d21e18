import { assert, assertEquals } from "@std/assert";
import { COLOURS, type Palette } from "../../src/dashboard/assets/colours.ts";
import { contrast } from "./contrast.ts";

/** What is written on what. */
const TEXTS: readonly (readonly [keyof Palette, keyof Palette])[] = [
  ...["text", "quiet", "link", "fault", "done"].map((text) => [text as keyof Palette, "ground"] as const),
  ["text", "raised"],
  ["onDanger", "danger"],
];

/** What can be used, or says something, and is no text. */
const PARTS: readonly (readonly [keyof Palette, keyof Palette])[] = [
  ["border", "ground"],
  ["border", "raised"],
  ["accent", "ground"],
  ["accent", "raised"],
  ["danger", "ground"],
];

function rgb(colour: string): number[] {
  return Array.from(colour.matchAll(/[0-9a-f]{2}/g), ([hex]) => parseInt(hex, 16));
}

Deno.test("contrast() is that of WCAG", () => {
  assertEquals(contrast([0, 0, 0], [255, 255, 255]), 21);
  assertEquals(contrast([255, 255, 255], [119, 119, 119]).toFixed(2), "4.48");
});

for (const [theme, palette] of Object.entries(COLOURS)) {
  Deno.test(`COLOURS has a contrast of at least 4.5 for text in the ${theme} theme`, () => {
    for (const [text, ground] of TEXTS) {
      const value = contrast(rgb(palette[text]), rgb(palette[ground]));
      assert(value >= 4.5, `${text} on ${ground}: ${value}`);
    }
  });

  Deno.test(`COLOURS has a contrast of at least 3 for parts in the ${theme} theme`, () => {
    for (const [part, ground] of PARTS) {
      const value = contrast(rgb(palette[part]), rgb(palette[ground]));
      assert(value >= 3, `${part} on ${ground}: ${value}`);
    }
  });
}
