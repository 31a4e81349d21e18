import { assert, assertEquals } from "@std/assert";
import { STYLE } from "../../src/dashboard/assets/generated.ts";
import { contrast } from "./contrast.ts";

/** What is written on what. */
const TEXTS: readonly (readonly [string, string])[] = [
  ...["text", "quiet", "link", "fault", "done"].map((text) => [text, "ground"] as const),
  ["text", "raised"],
  ["onDanger", "danger"],
];

/** What can be used, or says something, and is no text. */
const PARTS: readonly (readonly [string, string])[] = [
  ["border", "ground"],
  ["border", "raised"],
  ["accent", "ground"],
  ["accent", "raised"],
  ["danger", "ground"],
];

/** The colours of the light theme, and of the dark one. */
const [LIGHT, DARK] = Array.from(STYLE.matchAll(/:root \{([^}]*)\}/g), ([, block]) => {
  return Object.fromEntries(Array.from(block!.matchAll(/--(\w+): (#[0-9a-f]{6});/g), ([, name, hex]) => [name!, hex!]));
}) as [Record<string, string>, Record<string, string>];

function rgb(colour: string): number[] {
  return Array.from(colour.matchAll(/[0-9a-f]{2}/g), ([hex]) => parseInt(hex, 16));
}

Deno.test("contrast() is that of WCAG", () => {
  assertEquals(contrast([0, 0, 0], [255, 255, 255]), 21);
  assertEquals(contrast([255, 255, 255], [119, 119, 119]).toFixed(2), "4.48");
});

Deno.test("STYLE gives each colour that it uses, in both themes", () => {
  const used = new Set(Array.from(STYLE.matchAll(/var\(--(\w+)\)/g), ([, name]) => name!));
  for (const theme of [LIGHT, DARK]) assertEquals(Object.keys(theme).sort(), [...used].sort());
});

for (const [theme, palette] of Object.entries({ light: LIGHT, dark: DARK })) {
  Deno.test(`STYLE has a contrast of at least 4.5 for text in the ${theme} theme`, () => {
    for (const [text, ground] of TEXTS) {
      const value = contrast(rgb(palette[text]!), rgb(palette[ground]!));
      assert(value >= 4.5, `${text} on ${ground}: ${value}`);
    }
  });

  Deno.test(`STYLE has a contrast of at least 3 for parts in the ${theme} theme`, () => {
    for (const [part, ground] of PARTS) {
      const value = contrast(rgb(palette[part]!), rgb(palette[ground]!));
      assert(value >= 3, `${part} on ${ground}: ${value}`);
    }
  });
}
