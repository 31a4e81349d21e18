import ts from "typescript";
import { applied, type Change, type Mutant, numbering } from "./mutant.ts";
import { descendants, parse, placeOf, shown } from "./places.ts";
import { sqlChanges } from "./sql.ts";

/** What stands in the place of each operator. */
const OPERATORS: Readonly<Partial<Record<ts.SyntaxKind, readonly [operator: string, ...instead: string[]]>>> = {
  [ts.SyntaxKind.PlusToken]: ["arithmetic", "-"],
  [ts.SyntaxKind.MinusToken]: ["arithmetic", "+"],
  [ts.SyntaxKind.AsteriskToken]: ["arithmetic", "/"],
  [ts.SyntaxKind.SlashToken]: ["arithmetic", "*"],
  [ts.SyntaxKind.PercentToken]: ["arithmetic", "*"],
  [ts.SyntaxKind.AsteriskAsteriskToken]: ["arithmetic", "*"],
  [ts.SyntaxKind.LessThanToken]: ["comparison", "<=", ">="],
  [ts.SyntaxKind.LessThanEqualsToken]: ["comparison", "<", ">"],
  [ts.SyntaxKind.GreaterThanToken]: ["comparison", ">=", "<="],
  [ts.SyntaxKind.GreaterThanEqualsToken]: ["comparison", ">", "<"],
  [ts.SyntaxKind.EqualsEqualsEqualsToken]: ["comparison", "!=="],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken]: ["comparison", "==="],
  [ts.SyntaxKind.AmpersandAmpersandToken]: ["logical", "||"],
  [ts.SyntaxKind.BarBarToken]: ["logical", "&&"],
  [ts.SyntaxKind.QuestionQuestionToken]: ["logical", "&&"],
  [ts.SyntaxKind.PlusEqualsToken]: ["assignment", "-="],
  [ts.SyntaxKind.MinusEqualsToken]: ["assignment", "+="],
  [ts.SyntaxKind.AsteriskEqualsToken]: ["assignment", "/="],
  [ts.SyntaxKind.QuestionQuestionEqualsToken]: ["assignment", "="],
};

/** What stands in the place of each method. */
const METHODS: Readonly<Record<string, string>> = {
  max: "min",
  min: "max",
  floor: "ceil",
  ceil: "floor",
  some: "every",
  every: "some",
};

/** Methods that may as well not have been called. */
const DROPPED = /^(filter|sort|toSorted|reverse|toReversed)$/;

/** Returns the mutants of a file of TypeScript. */
export function mutantsOf(path: string, text: string): Mutant[] {
  const file = parse(path, text);
  const mutants: Mutant[] = [];
  const distinct = numbering();
  for (const node of descendants(file)) {
    if (hasNoEffect(node)) continue;
    for (const change of changesOf(node)) {
      const around = surroundings(node, change);
      const shift = around.getStart();
      const before = around.getText();
      const after = applied(before, { ...change, start: change.start - shift, end: change.end - shift });
      const key = distinct(`${path} ${placeOf(node)}: ${shown(before)} → ${shown(after)}`);
      const line = file.getLineAndCharacterOfPosition(change.start).line + 1;
      mutants.push({ path, ...change, line, key });
    }
  }
  return mutants;
}

/** The expression or statement that shows what a change means. */
function surroundings(node: ts.Node, { operator }: Change): ts.Node {
  const { parent } = node;
  if (operator === "condition") return conditionOf(node as Conditional);
  if (ts.isStatement(node) || ts.isVariableDeclaration(parent) || ts.isSourceFile(parent)) return node;
  return ts.isExpression(parent) || ts.isPropertyAssignment(parent) ? parent : node;
}

/** Whether a node is a type, an import, or what an error says. */
function hasNoEffect(node: ts.Node): boolean {
  for (let each = node; each !== undefined; each = each.parent) {
    if (ts.isTypeNode(each) || ts.isImportDeclaration(each) || ts.isExportDeclaration(each)) return true;
    if (ts.isInterfaceDeclaration(each) || ts.isTypeAliasDeclaration(each)) return true;
    if (ts.isNewExpression(each.parent ?? each) && each !== node.parent && isErrorArgument(each)) return true;
  }
  return false;
}

function isErrorArgument(node: ts.Node): boolean {
  return ts.isNewExpression(node.parent) && node.parent.arguments?.includes(node as ts.Expression) === true &&
    /Error$/.test(node.parent.expression.getText());
}

function changesOf(node: ts.Node): Change[] {
  if (ts.isBinaryExpression(node)) return ofOperator(node);
  if (ts.isIfStatement(node) || ts.isConditionalExpression(node) || ts.isWhileStatement(node)) return ofCondition(node);
  if (ts.isExpressionStatement(node)) return removed(node);
  if (ts.isBreakOrContinueStatement(node) || ts.isThrowStatement(node)) return removed(node);
  if (ts.isReturnStatement(node) && node.expression === undefined) return removed(node);
  if (ts.isAwaitExpression(node)) return ofAwait(node);
  if (ts.isCallExpression(node)) return ofCall(node);
  if (ts.isArrowFunction(node)) return ofArrow(node);
  if (ts.isPrefixUnaryExpression(node)) return ofPrefix(node);
  if (ts.isPostfixUnaryExpression(node)) return ofPostfix(node);
  return ofLiteral(node);
}

function change(operator: string, node: ts.Node, replacement: string): Change {
  return { operator, start: node.getStart(), end: node.getEnd(), replacement };
}

function ofOperator({ operatorToken: token, left, right }: ts.BinaryExpression): Change[] {
  const [operator, ...instead] = OPERATORS[token.kind] ?? [""];
  // Texts are joined, not added.
  const joined = [left, right].some((side) => ts.isStringLiteralLike(side) || ts.isTemplateExpression(side));
  if (joined && operator === "arithmetic") return [];
  return instead.map((text) => change(operator, token, text));
}

type Conditional = ts.IfStatement | ts.ConditionalExpression | ts.WhileStatement;

function conditionOf(node: Conditional): ts.Expression {
  return ts.isConditionalExpression(node) ? node.condition : node.expression;
}

function ofCondition(node: Conditional): Change[] {
  const condition = conditionOf(node);
  if (ts.isWhileStatement(node)) return [change("condition", condition, "false")];
  return ["true", "false"].map((text) => change("condition", condition, text));
}

function removed(node: ts.Statement): Change[] {
  const isSuper = ts.isExpressionStatement(node) && /^super\b/.test(node.getText());
  return isSuper ? [] : [change("statement", node, ";")];
}

function ofAwait(node: ts.AwaitExpression): Change[] {
  // What is returned is awaited anyway, unless an error is caught on the way.
  const pointless = ts.isArrowFunction(node.parent) || ts.isReturnStatement(node.parent) && !insideTry(node);
  return pointless ? [] : [change("await", node, node.expression.getText())];
}

function insideTry(node: ts.Node): boolean {
  for (let each = node.parent; each !== undefined && !ts.isFunctionLike(each); each = each.parent) {
    if (ts.isTryStatement(each)) return true;
  }
  return false;
}

function ofCall({ expression }: ts.CallExpression): Change[] {
  if (!ts.isPropertyAccessExpression(expression)) return [];
  const { name } = expression;
  const instead = METHODS[name.text];
  if (instead !== undefined) return [change("method", name, instead)];
  if (!DROPPED.test(name.text)) return [];
  const call = expression.parent;
  return [{ ...change("method", call, ""), start: expression.expression.getEnd() }];
}

function ofArrow({ body }: ts.ArrowFunction): Change[] {
  const call = ts.isAwaitExpression(body) ? body.expression : body;
  return ts.isCallExpression(call) ? [change("function", body, "undefined")] : [];
}

function ofPrefix(node: ts.PrefixUnaryExpression): Change[] {
  const operand = node.operand.getText();
  if (node.operator === ts.SyntaxKind.ExclamationToken) return [change("logical", node, operand)];
  if (node.operator === ts.SyntaxKind.MinusToken) return [change("arithmetic", node, operand)];
  if (node.operator === ts.SyntaxKind.PlusPlusToken) return [change("assignment", node, `--${operand}`)];
  if (node.operator === ts.SyntaxKind.MinusMinusToken) return [change("assignment", node, `++${operand}`)];
  return [];
}

function ofPostfix(node: ts.PostfixUnaryExpression): Change[] {
  const instead = node.operator === ts.SyntaxKind.PlusPlusToken ? "--" : "++";
  return [change("assignment", node, node.operand.getText() + instead)];
}

function ofLiteral(node: ts.Node): Change[] {
  if (node.kind === ts.SyntaxKind.TrueKeyword) return [change("boolean", node, "false")];
  if (node.kind === ts.SyntaxKind.FalseKeyword) return [change("boolean", node, "true")];
  if (ts.isNumericLiteral(node)) {
    const value = Number(node.text);
    return [change("constant", node, value === 0 ? "1" : value === 1 ? "0" : String(value * 2))];
  }
  if (ts.isBigIntLiteral(node)) {
    const value = BigInt(node.text.replace(/n$/, ""));
    return [change("constant", node, value === 0n ? "1n" : value === 1n ? "0n" : `${value * 2n}n`)];
  }
  const isText = ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node);
  return isText ? sqlChanges(node) : [];
}
