// @ts-types="../lua/luaparse.d.ts"
import luaparse, { type Expression, type Node } from "luaparse";
import * as constants from "../../src/stores/redis/constants.ts";
import { applied, type Change, type Mutant, numbering } from "./mutant.ts";
import { shown } from "./places.ts";

/** What stands in the place of each operator. */
const OPERATORS: Readonly<Record<string, readonly [operator: string, instead: string]>> = {
  "+": ["arithmetic", "-"],
  "-": ["arithmetic", "+"],
  "*": ["arithmetic", "/"],
  "/": ["arithmetic", "*"],
  "<": ["comparison", "<="],
  "<=": ["comparison", "<"],
  ">": ["comparison", ">="],
  ">=": ["comparison", ">"],
  "==": ["comparison", "~="],
  "~=": ["comparison", "=="],
};

/** What stands in the place of each function of `math`. */
const FUNCTIONS: Readonly<Record<string, string>> = { max: "min", min: "max", floor: "ceil", ceil: "floor" };

/** Arguments of commands that may as well be left out. */
const FLAG = /^'(NX|GT|KEEPTTL)'$/;

/** The beginning of the range of scores without its lower end. */
const OPEN_RANGE = /^'\((\d*)'$/;

type Range = readonly [start: number, end: number];

/** A node that is looked at, the one around it, and the function that both are in. */
interface Place {
  readonly node: Node;
  readonly parent: Node | undefined;
  readonly within: string;
}

/** Returns the mutants of a script, or of a fragment of one. */
export function luaMutantsOf(path: string, text: string): Mutant[] {
  const mutants: Mutant[] = [];
  const distinct = numbering();
  // A `$` is no part of a name in Lua.
  const chunk = luaparse.parse(text.replace(/\$(?=[A-Z])/g, "_"), {
    luaVersion: "5.1",
    encodingMode: "none",
    comments: false,
    ranges: true,
  });
  for (const { node, parent, within } of places(chunk)) {
    for (const change of changesOf(node, parent, text)) {
      const [shift, end] = surroundings(node, parent, change);
      const before = text.slice(shift, end);
      const after = applied(before, { ...change, start: change.start - shift, end: change.end - shift });
      const line = text.slice(0, change.start).split("\n").length;
      mutants.push({ path, ...change, line, key: distinct(`${path} ${within}: ${shown(before)} → ${shown(after)}`) });
    }
  }
  return mutants;
}

/** The range of the expression or statement that shows what a change means. */
function surroundings(node: Node, parent: Node | undefined, { operator, start, end }: Change): Range {
  if (operator === "condition") return [start, end];
  const shows = parent !== undefined && /Expression$|^(Local|Assignment|Return)Statement$/.test(parent.type);
  return rangeOf(shows ? parent : node);
}

/** Returns all nodes under a node, in the order of the text. */
function* places(parent: Node, within = ""): Iterable<Place> {
  const inner = parent.type === "FunctionDeclaration" && parent.identifier?.type === "Identifier"
    ? parent.identifier.name
    : within;
  for (const child of Object.values(parent).flat()) {
    if (!isNode(child)) continue;
    yield { node: child, parent, within: inner };
    yield* places(child, inner);
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value;
}

function rangeOf(node: Node): Range {
  return node.range!;
}

function changesOf(node: Node, parent: Node | undefined, text: string): Change[] {
  switch (node.type) {
    case "IfClause":
    case "ElseifClause":
      return ["true", "false"].map((constant) => change("condition", node.condition!, constant));
    case "WhileStatement":
      return [change("condition", node.condition, "false")];
    case "CallStatement":
    case "AssignmentStatement":
      return [change("statement", node, "do end")];
    case "LogicalExpression":
      return [node.right, node.left].map((kept) => change("logical", node, operand(kept, text)));
    case "BinaryExpression":
      return ofOperator(node, text);
    case "UnaryExpression":
      return [change(node.operator === "not" ? "logical" : "arithmetic", node, operand(node.argument, text))];
    case "MemberExpression":
      return ofMember(node);
    case "BooleanLiteral":
      return [change("boolean", node, String(!node.value))];
    case "NumericLiteral":
      return [change("constant", node, node.value === 0 ? "1" : node.value === 1 ? "0" : String(node.value * 2))];
    default:
      return ofText(node, parent, text);
  }
}

function change(operator: string, node: Node, replacement: string): Change {
  const [start, end] = rangeOf(node);
  return { operator, start, end, replacement };
}

/** The text of an operand, as it can stand alone: its range is without the parentheses around it. */
function operand(node: Expression, text: string): string {
  const own = text.slice(...rangeOf(node));
  return /^(Logical|Binary)Expression$/.test(node.type) ? `(${own})` : own;
}

function ofOperator(node: Extract<Node, { type: "BinaryExpression" | "LogicalExpression" }>, text: string): Change[] {
  const [operator, instead] = OPERATORS[node.operator] ?? [];
  if (operator === undefined || instead === undefined) return [];
  const start = text.indexOf(node.operator, rangeOf(node.left)[1]);
  return [{ operator, start, end: start + node.operator.length, replacement: instead }];
}

function ofMember({ base, identifier }: Extract<Node, { type: "MemberExpression" }>): Change[] {
  const instead = FUNCTIONS[identifier.name];
  if (instead === undefined || base.type !== "Identifier" || base.name !== "math") return [];
  return [change("function", identifier, instead)];
}

/** The changes of a word: a flag of a command, the end of a range, a constant. */
function ofText(node: Node, parent: Node | undefined, text: string): Change[] {
  const [start, end] = rangeOf(node);
  const own = text.slice(start, end);
  if (node.type !== "StringLiteral") return /^\$[A-Z_]+$/.test(own) ? swapped(own, start) : [];
  if (FLAG.test(own) && parent?.type === "CallExpression") {
    return [{ operator: "flag", start: text.lastIndexOf(",", start), end, replacement: "" }];
  }
  if (OPEN_RANGE.test(own)) return [change("comparison", node, own.replace("(", ""))];
  return Array.from(own.matchAll(/\$[A-Z_]+/g), ({ 0: name, index }) => swapped(name, start + index)).flat();
}

/** Another constant in the place of one: the next one, in the alphabet, of its type with another value. */
function swapped(name: string, start: number): Change[] {
  const all: [string, string | number][] = Object.entries(constants);
  const at = all.findIndex(([other]) => `$${other}` === name);
  const value = all[at]?.[1];
  const found = [...all.slice(at + 1), ...all].find(([, other]) => typeof other === typeof value && other !== value);
  if (found === undefined) return [];
  return [{ operator: "constant", start, end: start + name.length, replacement: `$${found[0]}` }];
}
