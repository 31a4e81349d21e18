// @ts-types="./luaparse.d.ts"
import luaparse, { type Chunk, type Expression, type Statement, type TableField } from "luaparse";
import { LuaError, type LuaFunction, numeric, Table, text, truth, typeOf, type Value } from "./values.ts";

/** The local variables of a function that runs, and those of the functions around it. */
interface Frame {
  readonly slots: Value[];
  readonly rest: readonly Value[];
  readonly outer: Frame | undefined;
}

type Evaluate = (frame: Frame) => Value;
type EvaluateAll = (frame: Frame) => Value[];
/** Gives what is returned, or that a loop is left; nothing when it goes on. */
type Execute = (frame: Frame) => Value[] | typeof BREAK | undefined;
type Assign = (frame: Frame, value: Value) => void;

const BREAK = Symbol("break");

/** Makes a function of a script; what it takes from outside is in `globals`. */
export function compile(source: string, globals: Map<string, Value>): () => Value[] {
  const chunk: Chunk = luaparse.parse(source, { luaVersion: "5.1", encodingMode: "pseudo-latin1", comments: false });
  const run = new Compiler(globals, undefined).block(chunk.body);
  return () => {
    const result = run({ slots: [], rest: [], outer: undefined });
    return Array.isArray(result) ? result : [];
  };
}

/** Makes closures of the syntax tree of one function: each knows where its variables are. */
class Compiler {
  readonly #globals: Map<string, Value>;
  readonly #outer: Compiler | undefined;
  /** The names that are visible, by block. */
  readonly #scopes: Map<string, number>[] = [];
  #slots = 0;

  constructor(globals: Map<string, Value>, outer: Compiler | undefined) {
    this.#globals = globals;
    this.#outer = outer;
  }

  /** Makes a block with variables of its own, among them these. */
  block(body: readonly Statement[], names: readonly string[] = []): Execute {
    this.#scopes.push(new Map());
    for (const name of names) this.#declare(name);
    const statements = body.map((statement) => this.#statement(statement));
    this.#scopes.pop();
    return (frame) => {
      for (const statement of statements) {
        const result = statement(frame);
        if (result !== undefined) return result;
      }
      return undefined;
    };
  }

  #declare(name: string): number {
    this.#scopes.at(-1)!.set(name, this.#slots);
    return this.#slots++;
  }

  #find(name: string): number | undefined {
    return this.#scopes.findLast((scope) => scope.has(name))?.get(name);
  }

  #statement(statement: Statement): Execute {
    switch (statement.type) {
      case "LocalStatement": {
        const values = this.#list(statement.init);
        const slots = statement.variables.map(({ name }) => this.#declare(name));
        return (frame) => {
          const all = values(frame);
          for (const [i, slot] of slots.entries()) frame.slots[slot] = all[i];
          return undefined;
        };
      }
      case "FunctionDeclaration":
        return this.#declaration(statement);
      case "AssignmentStatement": {
        const values = this.#list(statement.init);
        const targets = statement.variables.map((target) => this.#assign(target));
        return (frame) => {
          const all = values(frame);
          for (const [i, target] of targets.entries()) target(frame, all[i]);
          return undefined;
        };
      }
      case "CallStatement": {
        const call = this.#all(statement.expression);
        return (frame) => void call(frame);
      }
      case "ReturnStatement":
        return this.#list(statement.arguments);
      case "BreakStatement":
        return () => BREAK;
      case "DoStatement":
        return this.block(statement.body);
      case "IfStatement":
        return this.#if(statement);
      case "WhileStatement":
      case "RepeatStatement":
        return this.#while(statement);
      case "ForNumericStatement":
        return this.#count(statement);
      case "ForGenericStatement":
        return this.#each(statement);
    }
  }

  #declaration(declaration: Extract<Statement, { type: "FunctionDeclaration" }>): Execute {
    const { identifier } = declaration;
    if (declaration.isLocal && identifier?.type === "Identifier") this.#declare(identifier.name);
    const target = this.#assign(identifier!);
    const make = this.#function(declaration);
    return (frame) => void target(frame, make(frame));
  }

  #if({ clauses }: Extract<Statement, { type: "IfStatement" }>): Execute {
    const branches = clauses.map(({ condition, body }) => {
      return { when: condition === undefined ? () => true : this.#one(condition), run: this.block(body) };
    });
    return (frame) => {
      for (const { when, run } of branches) if (truth(when(frame))) return run(frame);
      return undefined;
    };
  }

  #while({ type, condition, body }: Extract<Statement, { type: "WhileStatement" | "RepeatStatement" }>): Execute {
    const until = type === "RepeatStatement";
    const holds = this.#one(condition);
    const run = this.block(body);
    return (frame) => {
      for (let first = true; until && first || truth(holds(frame)) !== until; first = false) {
        const result = run(frame);
        if (result === BREAK) break;
        if (result !== undefined) return result;
      }
      return undefined;
    };
  }

  #count({ variable, start, end, step, body }: Extract<Statement, { type: "ForNumericStatement" }>): Execute {
    const [from, to, by] = [start, end, step].map((bound) => bound === null ? () => 1 : this.#one(bound));
    const slot = this.#slots;
    const run = this.block(body, [variable.name]);
    return (frame) => {
      const last = number(to!(frame));
      const stride = number(by!(frame));
      for (let i = number(from!(frame)); stride > 0 ? i <= last : i >= last; i += stride) {
        frame.slots[slot] = i;
        const result = run(frame);
        if (result === BREAK) break;
        if (result !== undefined) return result;
      }
      return undefined;
    };
  }

  #each({ variables, iterators, body }: Extract<Statement, { type: "ForGenericStatement" }>): Execute {
    const values = this.#list(iterators);
    const first = this.#slots;
    const run = this.block(body, variables.map(({ name }) => name));
    return (frame) => {
      const [step, state, start] = values(frame);
      for (let control = start;;) {
        const next = call(step, [state, control]);
        control = next[0];
        if (control === undefined) return undefined;
        for (let i = 0; i < variables.length; i++) frame.slots[first + i] = next[i];
        const result = run(frame);
        if (result === BREAK) return undefined;
        if (result !== undefined) return result;
      }
    };
  }

  #assign(target: Expression): Assign {
    if (target.type === "Identifier") {
      const { name } = target;
      const found = this.#place(name);
      if (found === undefined) return (_, value) => void this.#globals.set(name, value);
      const [depth, slot] = found;
      return (frame, value) => void (outward(frame, depth).slots[slot] = value);
    }
    if (target.type !== "MemberExpression" && target.type !== "IndexExpression") {
      throw new Error(`cannot assign to ${target.type}`);
    }
    const base = this.#one(target.base);
    const { identifier } = target as { identifier?: { name: string } };
    const key = target.type === "IndexExpression" ? this.#one(target.index) : () => identifier!.name;
    return (frame, value) => table(base(frame)).set(key(frame), value);
  }

  /** Returns how many functions further out a variable is, and in which slot; nothing when it is global. */
  #place(name: string): [depth: number, slot: number] | undefined {
    const slot = this.#find(name);
    if (slot !== undefined) return [0, slot];
    const outer = this.#outer === undefined ? undefined : this.#outer.#place(name);
    return outer && [outer[0] + 1, outer[1]];
  }

  #function({ parameters, body }: Extract<Expression, { type: "FunctionDeclaration" }>): Evaluate {
    const inner = new Compiler(this.#globals, this);
    const names = parameters.flatMap((parameter) => parameter.type === "Identifier" ? [parameter.name] : []);
    const run = inner.block(body, names);
    return (outer): LuaFunction => (...args) => {
      const result = run({ slots: args.slice(0, names.length), rest: args.slice(names.length), outer });
      return Array.isArray(result) ? result : [];
    };
  }

  /** Returns the values of a list of expressions: all of the last one, and one of each other. */
  #list(expressions: readonly Expression[]): EvaluateAll {
    const last = expressions.at(-1);
    if (last === undefined) return () => [];
    const firsts = expressions.slice(0, -1).map((expression) => this.#one(expression));
    if (!isMultiple(last)) {
      const only = this.#one(last);
      return (frame) => [...firsts.map((first) => first(frame)), only(frame)];
    }
    const rest = this.#all(last);
    return (frame) => {
      const values = firsts.map((first) => first(frame));
      values.push(...rest(frame));
      return values;
    };
  }

  /** Returns all values of an expression that can have several. */
  #all(expression: Expression): EvaluateAll {
    if (expression.type === "VarargLiteral") return (frame) => [...frame.rest];
    if (!isMultiple(expression)) {
      const one = this.#one(expression);
      return (frame) => [one(frame)];
    }
    const { base } = expression as Extract<Expression, { type: "CallExpression" }>;
    const args = this.#arguments(expression);
    if (base.type === "MemberExpression" && base.indexer === ":") {
      const object = this.#one(base.base);
      const { name } = base.identifier;
      return (frame) => {
        const self = object(frame);
        return call(index(self, name, this.#globals), [self, ...args(frame)]);
      };
    }
    const callee = this.#one(base);
    return (frame) => call(callee(frame), args(frame));
  }

  #arguments(expression: Expression): EvaluateAll {
    if (expression.type === "CallExpression") return this.#list(expression.arguments);
    if (expression.type === "TableCallExpression") return this.#list([expression.arguments]);
    if (expression.type === "StringCallExpression") return this.#list([expression.argument]);
    throw new Error(`no call: ${expression.type}`);
  }

  #one(expression: Expression): Evaluate {
    switch (expression.type) {
      case "StringLiteral":
      case "NumericLiteral":
      case "BooleanLiteral": {
        const { value } = expression;
        return () => value;
      }
      case "NilLiteral":
        return () => undefined;
      case "VarargLiteral":
        return ({ rest }) => rest[0];
      case "Identifier":
        return this.#variable(expression.name);
      case "FunctionDeclaration":
        return this.#function(expression);
      case "MemberExpression": {
        const base = this.#one(expression.base);
        const { name } = expression.identifier;
        return (frame) => index(base(frame), name, this.#globals);
      }
      case "IndexExpression": {
        const base = this.#one(expression.base);
        const key = this.#one(expression.index);
        return (frame) => index(base(frame), key(frame), this.#globals);
      }
      case "LogicalExpression": {
        const left = this.#one(expression.left);
        const right = this.#one(expression.right);
        const and = expression.operator === "and";
        return (frame) => {
          const value = left(frame);
          return truth(value) === and ? right(frame) : value;
        };
      }
      case "UnaryExpression":
        return unary(expression.operator, this.#one(expression.argument));
      case "BinaryExpression":
        return binary(expression.operator, this.#one(expression.left), this.#one(expression.right));
      case "TableConstructorExpression":
        return this.#table(expression.fields);
      default: {
        const all = this.#all(expression);
        return (frame) => all(frame)[0];
      }
    }
  }

  #variable(name: string): Evaluate {
    const found = this.#place(name);
    if (found === undefined) {
      return () => {
        // As on the server: a script that reads what was never set has mistyped it.
        if (!this.#globals.has(name)) {
          throw new LuaError(`Script attempted to access nonexistent global variable '${name}'`);
        }
        return this.#globals.get(name);
      };
    }
    const [depth, slot] = found;
    if (depth === 0) return (frame) => frame.slots[slot];
    return (frame) => outward(frame, depth).slots[slot];
  }

  #table(fields: readonly TableField[]): Evaluate {
    const values = this.#list(fields.flatMap((field) => field.type === "TableValue" ? [field.value] : []));
    const named = fields.flatMap((field) => {
      if (field.type === "TableValue") return [];
      const { key } = field;
      const evaluate = key.type === "Identifier" && field.type === "TableKeyString" ? () => key.name : this.#one(key);
      return [{ key: evaluate, value: this.#one(field.value) }];
    });
    return (frame) => {
      const made = new Table(values(frame));
      for (const { key, value } of named) made.set(key(frame), value(frame));
      return made;
    };
  }
}

function isMultiple({ type }: Expression): boolean {
  return type === "VarargLiteral" || type.endsWith("CallExpression");
}

function outward(frame: Frame, depth: number): Frame {
  let found = frame;
  for (let i = 0; i < depth; i++) found = found.outer!;
  return found;
}

function call(callee: Value, args: Value[]): Value[] {
  if (typeof callee !== "function") throw new LuaError(`attempt to call a ${typeOf(callee)} value`);
  return callee(...args);
}

function table(value: Value): Table {
  if (!(value instanceof Table)) throw new LuaError(`attempt to index a ${typeOf(value)} value`);
  return value;
}

/** Returns what stands in a table; of a string, a function of the library. */
function index(base: Value, key: Value, globals: Map<string, Value>): Value {
  return table(typeof base === "string" ? globals.get("string") : base).get(key);
}

function number(value: Value): number {
  const found = numeric(value);
  if (found === undefined) throw new LuaError(`attempt to perform arithmetic on a ${typeOf(value)} value`);
  return found;
}

function unary(operator: string, argument: Evaluate): Evaluate {
  if (operator === "not") return (frame) => !truth(argument(frame));
  if (operator === "-") return (frame) => -number(argument(frame));
  return (frame) => {
    const value = argument(frame);
    return typeof value === "string" ? value.length : table(value).length;
  };
}

function binary(operator: string, left: Evaluate, right: Evaluate): Evaluate {
  const arithmetic = ARITHMETIC[operator];
  if (arithmetic !== undefined) return (frame) => arithmetic(number(left(frame)), number(right(frame)));
  switch (operator) {
    case "..":
      return (frame) => joined(left(frame)) + joined(right(frame));
    case "==":
      return (frame) => left(frame) === right(frame);
    case "~=":
      return (frame) => left(frame) !== right(frame);
    case "<":
      return (frame) => compare(left(frame), right(frame), (a, b) => a < b);
    case "<=":
      return (frame) => compare(left(frame), right(frame), (a, b) => a <= b);
    case ">":
      return (frame) => compare(left(frame), right(frame), (a, b) => a > b);
    case ">=":
      return (frame) => compare(left(frame), right(frame), (a, b) => a >= b);
    default:
      throw new Error(`not supported: ${operator}`);
  }
}

const ARITHMETIC: Readonly<Record<string, (left: number, right: number) => number>> = {
  "+": (left, right) => left + right,
  "-": (left, right) => left - right,
  "*": (left, right) => left * right,
  "/": (left, right) => left / right,
  "%": (left, right) => left - Math.floor(left / right) * right,
  "^": (left, right) => left ** right,
};

function joined(value: Value): string {
  if (typeof value === "string" || typeof value === "number") return text(value);
  throw new LuaError(`attempt to concatenate a ${typeOf(value)} value`);
}

function compare(left: Value, right: Value, holds: (a: number | string, b: number | string) => boolean): boolean {
  if (typeof left === "number" && typeof right === "number") return holds(left, right);
  if (typeof left === "string" && typeof right === "string") return holds(left, right);
  throw new LuaError(`attempt to compare ${typeOf(left)} with ${typeOf(right)}`);
}
