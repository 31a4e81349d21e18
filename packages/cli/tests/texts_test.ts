// Deno only: it looks at the sources.
import { assert, assertEquals } from "@std/assert";
import ts from "typescript";
import { sourceFiles, textOf } from "../../../tests/support/test_files.ts";

/** The texts that users see of `doctor`, and of what is wrong with the URL of a store. `UPDATE_TEXTS=1` writes them. */
const SNAPSHOT = "packages/cli/tests/texts.txt";

/** The functions that make findings: by a code, what was found, what it means, and the advice. */
const LEVELS: Readonly<Record<string, string>> = { ok: "ok", warning: "warning", error: "error", lacking: "error" };

/** Returns a constant of this name that the place sees. */
function constant(name: string, place: ts.Node): ts.Expression | undefined {
  for (let scope: ts.Node | undefined = place; scope !== undefined; scope = scope.parent) {
    const statements = ts.isBlock(scope) || ts.isSourceFile(scope) ? scope.statements : [];
    for (const statement of statements) {
      if (!ts.isVariableStatement(statement)) continue;
      const found = statement.declarationList.declarations.find((each) => each.name.getText() === name);
      if (found?.initializer !== undefined) return found.initializer;
    }
  }
  return undefined;
}

/** Returns the text of an expression, with `…` for what differs from call to call, and ` | ` between alternatives. */
function words(node: ts.Expression | undefined, place = node): string {
  if (node === undefined) return "";
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node)) {
    return node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join("");
  }
  if (ts.isBinaryExpression(node)) return words(node.left, place) + words(node.right, place);
  if (ts.isConditionalExpression(node)) return `${words(node.whenTrue, place)} | ${words(node.whenFalse, place)}`;
  const meant = ts.isIdentifier(node) ? constant(node.text, place!) : undefined;
  return meant === undefined ? "…" : words(meant, place);
}

/** Returns the texts of a source. */
function textsOf(path: string, text = textOf(path)): string[] {
  const texts: string[] = [];
  const visit = (node: ts.Node): void => {
    ts.forEachChild(node, visit);
    if (!ts.isCallExpression(node) && !ts.isNewExpression(node)) return;
    const called = node.expression.getText();
    const [first, found, meaning, advice] = node.arguments ?? [];
    if (called === "fail" || called === "UsageError") texts.push(`usage: ${words(first)}`);
    if (called === "verdicts" && ts.isObjectLiteralExpression(first!)) {
      for (const { name, initializer } of first.properties.filter(ts.isPropertyAssignment)) {
        const code = (name as ts.Identifier | ts.StringLiteral).text;
        for (const level of (initializer as ts.ObjectLiteralExpression).properties.filter(ts.isPropertyAssignment)) {
          const [means, then] = (level.initializer as ts.ArrayLiteralExpression).elements;
          texts.push(`${level.name.getText()} ${code}: ${words(means)} / ${words(then)}`);
        }
      }
    }
    const level = Object.hasOwn(LEVELS, called) ? LEVELS[called] : undefined;
    const isJudged = called === "judged";
    if ((level === undefined && !isJudged) || first === undefined || !ts.isStringLiteral(first)) return;
    texts.push(`${first.text} found: ${words(isJudged ? meaning : found)}`);
    if (level !== undefined) texts.push(`${level} ${first.text}: ${words(meaning)} / ${words(advice)}`);
  };
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true));
  return texts;
}

/** Returns all texts, each once. */
function texts(): string {
  const files = ["doctor/", "schemes/"].flatMap((folder) => sourceFiles(`packages/cli/src/${folder}`, ".ts"));
  return [...new Set(files.flatMap((path) => textsOf(path)))].sort().join("\n") + "\n";
}

Deno.test("the texts of doctor and of wrong URLs are those of texts.txt", () => {
  if (Deno.env.get("UPDATE_TEXTS") === "1") Deno.writeTextFileSync(new URL("texts.txt", import.meta.url), texts());
  assert(texts().split("\n").length > 150, "the texts were found");
  assertEquals(texts(), textOf(SNAPSHOT));
});

Deno.test("textsOf() finds texts in calls and in tables", () => {
  const call = 'const means = "It " + `is ${x}.`; ok("role", `a ${b} c`, means); fail("has no host");';
  assertEquals(textsOf("a.ts", call), ["role found: a … c", "ok role: It is …. / ", "usage: has no host"]);
  const table = 'const judged = verdicts({ role: { error: ["It is not.", "Do."] } }); judged("role", "error", "b");';
  assertEquals(textsOf("a.ts", table), ["error role: It is not. / Do.", "role found: b"]);
});
