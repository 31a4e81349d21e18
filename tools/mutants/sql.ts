import ts from "typescript";
import type { Change } from "./mutant.ts";

/** What tells a statement of SQL, or a part of one, from other texts. */
const SQL = /\b(SELECT|UPDATE|DELETE FROM|INSERT INTO|FROM \w+|WHERE|AND)\b/;

/** What stands in the place of each part of a statement. */
const PARTS: readonly [part: RegExp, instead: string][] = [
  [/ < /g, " <= "],
  [/ > /g, " >= "],
  [/ <= /g, " < "],
  [/ >= /g, " > "],
  [/ <> /g, " = "],
  [/ AND /g, " OR "],
  [/ OR (?!REPLACE|IGNORE)/g, " AND "],
  [/ \+ /g, " - "],
  [/ - /g, " + "],
  [/\bmax\(/g, "min("],
  [/\bmin\(/g, "max("],
  [/\bGREATEST\(/g, "LEAST("],
  [/ SKIP LOCKED/g, ""],
];

/** Returns the changes of a text that is SQL. */
export function sqlChanges(node: ts.Node): Change[] {
  let whole = node;
  while (ts.isTemplateSpan(whole.parent) || ts.isTemplateExpression(whole.parent)) whole = whole.parent;
  if (!SQL.test(whole.getText())) return [];
  const text = node.getText();
  return PARTS.flatMap(([part, instead]) =>
    Array.from(text.matchAll(part), (match) => {
      const start = node.getStart() + match.index;
      return { operator: "sql", start, end: start + match[0].length, replacement: instead };
    })
  );
}
