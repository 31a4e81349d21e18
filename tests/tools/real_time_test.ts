// Deno only: it looks at the sources of the tests.
import { assertEquals } from "@std/assert";
import ts from "typescript";

/** Why a command is timed: what it keeps of its lease to end in is the promise. */
const SAFETY = "a command is dead before its lease ends";

/** Why a fault is timed: on a slow machine it is noticed all the more. */
const NOTICED = "a late answer is what the fault is to bring about";

/**
 * The files with upper bounds on elapsed real time: how many, and why none of them can be a condition, an order, a
 * count or a moment of a virtual clock. What is not listed here fails on a busy machine one day.
 */
const ALLOWED: Readonly<Record<string, readonly [bounds: number, reason: string]>> = {
  "packages/cli/tests/run_sentinel_test.ts": [1, SAFETY],
  "tests/examples_test.ts": [1, "a waiter is served long before the lease of 30 s ends that a program has released"],
  "tests/faults/run/memcached/server_faults_test.ts": [1, NOTICED],
  "tests/faults/run/mysql/server_faults_test.ts": [1, NOTICED],
  "tests/faults/run/postgres/server_faults_test.ts": [1, NOTICED],
  "tests/faults/run/redis/server_faults_test.ts": [2, NOTICED],
};

const ROOT = new URL("../../", import.meta.url);

/** What asserts, or decides whether to throw. */
const JUDGES = /^(?:assert\w*|check|fails)$/;

/** What reads a real clock. */
const CLOCK = /\b(?:performance|Date)\.now\b/;

/** Returns the comparisons with an upper bound on real time that a test would fail by. */
function boundsIn(text: string): string[] {
  const file = ts.createSourceFile("a.ts", text, ts.ScriptTarget.Latest, true);
  const measured = measuredNames(file);
  /** Whether a value grows, or falls, with the time that passes. */
  const moves = (node: ts.Node, grows: boolean): boolean => {
    if (ts.isIdentifier(node)) return measured.get(node.text) === grows;
    if (ts.isParenthesizedExpression(node)) return moves(node.expression, grows);
    if (ts.isBinaryExpression(node)) {
      const isMinus = node.operatorToken.kind === ts.SyntaxKind.MinusToken;
      return moves(node.left, grows) || moves(node.right, grows !== isMinus);
    }
    if (!ts.isCallExpression(node)) return false;
    const called = node.expression.getText();
    if (called === "Math.abs") return node.arguments.some((each) => moves(each, true) || moves(each, false));
    return grows && CLOCK.test(called) || /^Math\./.test(called) && node.arguments.some((each) => moves(each, grows));
  };
  const found: string[] = [];
  const visit = (node: ts.Node, judged: boolean) => {
    // A helper that waits for a condition, and has a limit.
    if (ts.isForStatement(node) && CLOCK.test(node.initializer?.getText() ?? "")) return;
    if (ts.isBinaryExpression(node) && judged) {
      const { operatorToken: { kind }, left, right } = node;
      const less = kind === ts.SyntaxKind.LessThanToken || kind === ts.SyntaxKind.LessThanEqualsToken;
      const more = kind === ts.SyntaxKind.GreaterThanToken || kind === ts.SyntaxKind.GreaterThanEqualsToken;
      const bounds = less ? moves(left, true) || moves(right, false) : moves(left, false) || moves(right, true);
      if ((less || more) && bounds) found.push(node.getText());
    }
    const judges = ts.isCallExpression(node) && JUDGES.test(node.expression.getText());
    ts.forEachChild(node, (child) => visit(child, judged || judges));
    if (!ts.isIfStatement(node) || !/\bthrow\b/.test(node.thenStatement.getText())) return;
    const late = /^(.*?) >=? /.exec(node.expression.getText())?.[1];
    if (late !== undefined && CLOCK.test(late)) found.push(node.expression.getText());
  };
  visit(file, false);
  return found;
}

/**
 * Returns the names of the values that were measured, and whether they grow: differences to a reading of a real clock.
 */
function measuredNames(file: ts.SourceFile): Map<string, boolean> {
  const names = new Map<string, boolean>();
  const visit = (node: ts.Node) => {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer !== undefined) {
      const { initializer } = node;
      const isDifference = ts.isBinaryExpression(initializer) &&
        initializer.operatorToken.kind === ts.SyntaxKind.MinusToken;
      if (isDifference && CLOCK.test(initializer.getText())) {
        names.set(node.name.text, CLOCK.test(initializer.left.getText()));
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return names;
}

function sources(folder: string): string[] {
  return [...Deno.readDirSync(new URL(folder, ROOT))].flatMap(({ name, isDirectory }) =>
    isDirectory ? sources(`${folder}${name}/`) : name.endsWith(".ts") ? [`${folder}${name}`] : []
  ).sort();
}

Deno.test("tests bound no elapsed real time from above, but for those that say why", () => {
  const found: Record<string, number> = {};
  for (const path of ["tests/", "packages/", "tools/"].flatMap(sources)) {
    if (path.endsWith("/real_time_test.ts")) continue;
    const text = Deno.readTextFileSync(new URL(path, ROOT));
    const { length } = CLOCK.test(text) ? boundsIn(text) : [];
    if (length > 0) found[path] = length;
  }
  assertEquals(found, Object.fromEntries(Object.entries(ALLOWED).map(([path, [bounds]]) => [path, bounds])));
});

Deno.test("boundsIn() finds an upper bound on real time, however it is written", () => {
  const bounds = [
    `assert(performance.now() - started < 3_000, "soon");`,
    `const took = performance.now() - started; assert(took >= 10 && took < 200);`,
    `const late = Date.now() - end; check(50 >= late, "in time");`,
    `const after = performance.now() - began; assertEquals(after <= LIMIT, true);`,
    `if (performance.now() - started > 150) throw new Error("frozen");`,
    `assert(Math.abs(Date.now() - end) < 50);`,
    `assert(end - Date.now() > 100, "much is left");`,
    `assert(lock.expiration > Date.now() + 1_000);`,
  ];
  for (const text of bounds) assertEquals(boundsIn(text).length, 1, text);
});

Deno.test("boundsIn() finds no lower bound, and no condition that is waited for", () => {
  const others = [
    `assert(performance.now() - started >= 200, "not before");`,
    `await until(() => performance.now() > end, "it is over");`,
    `const took = performance.now() - started; assert(10 < took);`,
    `while (performance.now() - began < 20);`,
    `assert(count < 10);`,
    `for (const began = performance.now();;) if (performance.now() - began > limit) throw new Error("a hang");`,
    `assert(pttl <= ms && pttl >= ms - (performance.now() - began) - 2);`,
    `assert(lock.expiration <= Date.now() + 50_000);`,
  ];
  for (const text of others) assertEquals(boundsIn(text), [], text);
});
