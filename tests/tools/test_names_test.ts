// Deno only: it looks at the sources.
import { assertEquals } from "@std/assert";
import ts from "typescript";
import { sourceFiles, textOf } from "../support/test_files.ts";

const MAX_CHARACTERS = 80;

/** How many characters an expression in a name is taken for. */
const EXPRESSION_CHARACTERS = 10;

function lengthOf(name: ts.Node): number {
  if (ts.isStringLiteralLike(name)) return name.text.length;
  if (!ts.isTemplateExpression(name)) return 0;
  const parts = name.templateSpans.map(({ literal }) => EXPRESSION_CHARACTERS + literal.text.length);
  return parts.reduce((sum, length) => sum + length, name.head.text.length);
}

/** Returns the name of the test that a node defines: by a call such as `Deno.test()`, or as a method of a suite. */
function testName(node: ts.Node): ts.Node | undefined {
  if (ts.isMethodDeclaration(node)) return node.name;
  if (!ts.isCallExpression(node) || !/test/i.test(node.expression.getText())) return undefined;
  const [first] = node.arguments;
  if (first === undefined || !ts.isObjectLiteralExpression(first)) return first;
  const name = first.properties.find((property) => property.name?.getText() === "name");
  return name !== undefined && ts.isPropertyAssignment(name) ? name.initializer : undefined;
}

function longNames(path: string, text: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node) => {
    const name = testName(node);
    if (name !== undefined && lengthOf(name) > MAX_CHARACTERS) found.push(`${path}: ${name.getText()}`);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true));
  return found;
}

Deno.test("test names have at most 80 characters", () => {
  const folders = ["tests/", "bench/", "packages/", "tools/"];
  const files = folders.flatMap((folder) => sourceFiles(folder, ".ts"));
  assertEquals(files.flatMap((path) => longNames(path, textOf(path))), []);
});

Deno.test("longNames() finds a name of 81 characters in each form of a test", () => {
  const [fits, long] = ["x".repeat(80), "x".repeat(81)];
  const forms = (name: string) => [
    `Deno.test("${name}", () => {});`,
    `Deno.test({ name: "${name}", fn });`,
    `for (const kind of kinds) Deno.test(\`\${kind}${name.slice(10)}\`, () => {});`,
    `testWithFixture("${name}", () => {});`,
    `const steps = { async "${name}"({ connect }) {} };`,
  ];
  assertEquals(forms(fits).flatMap((text) => longNames("a.ts", text)), []);
  assertEquals(forms(long).map((text) => longNames("a.ts", text).length), [1, 1, 1, 1, 1]);
});
