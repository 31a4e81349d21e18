import ts from "typescript";
import { changedSources } from "./changed_sources.ts";

/** Where counted sources find what counts. */
const COUNTER = "holdfast.branches";

/** The names that counted sources call: for a condition, for what may be missing, and for a function. */
const HEAD = `const { either: $either, missing: $missing, called: $called } = globalThis[Symbol.for("${COUNTER}")];\n`;

/** How many characters of a branch are shown. */
const SHOWN = 80;

/** A way that the sources can take. */
interface Branch {
  readonly file: string;
  readonly line: number;
  /** The function that it is in, what is missing if nothing takes it, and its text. */
  readonly what: string;
}

/** Branches that no seed can take, by the file and by what takes them instead, or why nothing does. */
export type Untaken = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

/** Counts which branches of sources runs take, and which follow each other. */
export class Branches {
  readonly #all: Branch[] = [];
  readonly #taken = new Set<number>();
  /** Pairs of branches, one taken directly after the other. */
  readonly #pairs = new Set<number>();
  #last = 0;

  /**
   * Makes copies of files in `src`, and returns what imports them, by their paths in there. The branches are counted of
   * those for which `isCounted` says so.
   */
  count(isCopied: (path: string) => boolean, isCounted = isCopied): <M>(path: string) => Promise<M> {
    const take = (branch: number) => {
      this.#taken.add(branch);
      this.#pairs.add(this.#last * this.#all.length + branch);
      this.#last = branch;
    };
    const either = (branch: number, value: unknown) => (take(value ? branch : branch + 1), value);
    const missing = (
      branch: number,
      value: unknown,
    ) => (take(value === undefined || value === null ? branch : branch + 1), value);
    Reflect.set(globalThis, Symbol.for(COUNTER), { either, missing, called: take });
    return changedSources(isCopied, (path, text) => isCounted(path) ? HEAD + this.#counted(path, text) : text);
  }

  /** How many branches and pairs of them were taken so far. */
  get reached(): number {
    return this.#taken.size + this.#pairs.size;
  }

  /** The branches that were never taken, a line for each. */
  get missing(): string[] {
    return this.#all.flatMap(({ file, line, what }, branch) =>
      this.#taken.has(branch) ? [] : [`${file}:${line} ${what}`]
    );
  }

  /**
   * Returns a line for each branch that was never taken and is not known to be so, and for each that is known wrongly.
   */
  unexpected(known: Untaken): string[] {
    const why = new Map<string, boolean>();
    for (const [file, reasons] of Object.entries(known)) {
      for (const what of Object.values(reasons).flat()) why.set(`${file} ${what}`, false);
    }
    const lines: string[] = [];
    for (const [branch, { file, line, what }] of this.#all.entries()) {
      const key = `${file} ${what}`;
      const isMissing = !this.#taken.has(branch);
      if (why.has(key)) why.set(key, isMissing || why.get(key)!);
      else if (isMissing) lines.push(`Never taken: ${file}:${line} ${what}`);
    }
    for (const [key, isMissing] of why) if (!isMissing) lines.push(`Taken after all, or not there: ${key}`);
    return lines;
  }

  /** Returns the share of the branches that were taken. */
  toString(): string {
    return `${this.#taken.size} of ${this.#all.length} branches, ${this.#pairs.size} pairs of them`;
  }

  #counted(file: string, text: string): string {
    const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
    const add = (node: ts.Node, ...whats: string[]): number => {
      const line = source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
      const shown = node.getText().replaceAll(/\s+/g, " ").slice(0, SHOWN);
      for (const what of whats) this.#all.push({ file, line, what: `${placeOf(node)} ${what}: ${shown}`.trim() });
      return this.#all.length - whats.length;
    };
    const render = (node: ts.Node): string => {
      let [out, end] = ["", node.pos];
      ts.forEachChild(node, (child) => {
        out += text.slice(end, child.pos) + render(child);
        end = child.end;
      });
      out += text.slice(end, node.end);
      const start = node.getStart() - node.pos;
      const [before, body] = [out.slice(0, start), out.slice(start)];
      if (isFunctionBody(node)) {
        const called = `$called(${add(node.parent, "never called")})`;
        return ts.isBlock(node) ? `${before}{${called};${body.slice(1)}` : `${before}(${called}, ${body})`;
      }
      if (isCondition(node)) return `${before}$either(${add(node, "never true", "never false")}, ${body})`;
      return isPerhaps(node) ? `${before}$missing(${add(node, "never missing", "never there")}, ${body})` : out;
    };
    return render(source);
  }
}

/** Returns the name of the function or method that a node is in. */
function placeOf(node: ts.Node): string {
  for (let at: ts.Node | undefined = node.parent; at !== undefined; at = at.parent) {
    if (ts.isConstructorDeclaration(at)) return "constructor";
    if ((ts.isFunctionDeclaration(at) || ts.isMethodDeclaration(at) || ts.isAccessor(at)) && at.name !== undefined) {
      return at.name.getText();
    }
  }
  return "";
}

function isFunctionBody(node: ts.Node): boolean {
  const { parent } = node;
  return parent !== undefined && ts.isFunctionLike(parent) && "body" in parent && parent.body === node;
}

function isCondition(node: ts.Node): boolean {
  const { parent } = node;
  if (parent === undefined) return false;
  if (ts.isIfStatement(parent) || ts.isWhileStatement(parent)) return parent.expression === node;
  if (ts.isConditionalExpression(parent) || ts.isForStatement(parent)) return parent.condition === node;
  return isLeft(node, ts.SyntaxKind.AmpersandAmpersandToken) || isLeft(node, ts.SyntaxKind.BarBarToken);
}

function isPerhaps(node: ts.Node): boolean {
  return isLeft(node, ts.SyntaxKind.QuestionQuestionToken);
}

function isLeft(node: ts.Node, operator: ts.SyntaxKind): boolean {
  const { parent } = node;
  return parent !== undefined && ts.isBinaryExpression(parent) && parent.operatorToken.kind === operator &&
    parent.left === node;
}
