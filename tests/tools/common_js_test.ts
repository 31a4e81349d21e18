// Deno only: it tests a tool.
import { assertEquals, assertThrows } from "@std/assert";
import { translated } from "./common_js.ts";

const HEAD = `"use strict";\nObject.defineProperty(exports, "__esModule", { value: true });\n`;

Deno.test("translated() keeps a module as it is, but for its imports and exports", () => {
  // In quotes: at the start of a line, another tool would take them for imports of this file.
  const module = [
    `import { a, b as c } from "./a.js";`,
    `import * as i from "./i.js";`,
    `export { d, e as default } from "./d.js";`,
    "// Why.",
    "export const f = `\nexport const g = 1;\n`;",
    "export async function h() {",
    `  return (await import("./lazy.js")).value + a + c;`,
    "}",
    "class Shape {\n}",
    "export { Shape as Form };\n",
  ].join("\n");
  assertEquals(
    translated("module.js", module),
    `${HEAD}const { a, b: c } = require("./a.js");
const i = require("./i.js");
exports.d = require("./d.js").d;
exports.default = require("./d.js").e;
// Why.
const f = \`
export const g = 1;
\`;
async function h() {
  return (await Promise.resolve().then(() => require("./lazy.js"))).value + a + c;
}
class Shape {
}
exports.f = f;
exports.h = h;
exports.Form = Shape;
`,
  );
});

Deno.test("translated() throws on what CommonJS does not have, or what it does not know", () => {
  for (
    const [module, says] of [
      ["export let a = 1;", "export let a"],
      ["export default 1;", "export default"],
      ["export default function a() {}", "export default"],
      [`export * from "./a.js";`, "export *"],
      [`import a from "./a.js";`, "import a"],
      [`import "./a.js";`, "import"],
      ["await import(name);", "import(name)"],
      ["console.log(import.meta.url);", "import.meta"],
    ] as const
  ) assertThrows(() => translated("module.js", module), Error, `module.js: no CommonJS for "${says}`);
});
