/** What is used of luaparse, which brings no types: the syntax tree of Lua 5.1. */

export interface Identifier {
  type: "Identifier";
  name: string;
}

export interface FunctionDeclaration {
  type: "FunctionDeclaration";
  identifier: Expression | null;
  isLocal: boolean;
  parameters: (Identifier | { type: "VarargLiteral" })[];
  body: Statement[];
}

export type TableField =
  | { type: "TableKey"; key: Expression; value: Expression }
  | { type: "TableKeyString"; key: Identifier; value: Expression }
  | { type: "TableValue"; value: Expression };

export type Expression =
  | Identifier
  | FunctionDeclaration
  | { type: "StringLiteral"; value: string }
  | { type: "NumericLiteral"; value: number }
  | { type: "BooleanLiteral"; value: boolean }
  | { type: "NilLiteral" }
  | { type: "VarargLiteral" }
  | { type: "BinaryExpression" | "LogicalExpression"; operator: string; left: Expression; right: Expression }
  | { type: "UnaryExpression"; operator: string; argument: Expression }
  | { type: "MemberExpression"; base: Expression; identifier: Identifier; indexer: "." | ":" }
  | { type: "IndexExpression"; base: Expression; index: Expression }
  | { type: "CallExpression"; base: Expression; arguments: Expression[] }
  | { type: "TableCallExpression"; base: Expression; arguments: Expression }
  | { type: "StringCallExpression"; base: Expression; argument: Expression }
  | { type: "TableConstructorExpression"; fields: TableField[] };

export interface Clause {
  type: "IfClause" | "ElseifClause" | "ElseClause";
  condition?: Expression;
  body: Statement[];
}

export type Statement =
  | FunctionDeclaration
  | { type: "LocalStatement"; variables: Identifier[]; init: Expression[] }
  | { type: "AssignmentStatement"; variables: Expression[]; init: Expression[] }
  | { type: "CallStatement"; expression: Expression }
  | { type: "IfStatement"; clauses: Clause[] }
  | { type: "WhileStatement" | "RepeatStatement"; condition: Expression; body: Statement[] }
  | {
    type: "ForNumericStatement";
    variable: Identifier;
    start: Expression;
    end: Expression;
    step: Expression | null;
    body: Statement[];
  }
  | { type: "ForGenericStatement"; variables: Identifier[]; iterators: Expression[]; body: Statement[] }
  | { type: "ReturnStatement"; arguments: Expression[] }
  | { type: "BreakStatement" }
  | { type: "DoStatement"; body: Statement[] };

export interface Chunk {
  type: "Chunk";
  body: Statement[];
}

/** Any node; with the option `ranges` it has the places in the text at which it begins and ends. */
export type Node = (Chunk | Statement | Clause | Expression | TableField) & {
  readonly range?: readonly [start: number, end: number];
};

/** How a text is read. */
export interface Options {
  luaVersion: "5.1";
  encodingMode: "pseudo-latin1" | "none";
  comments: boolean;
  ranges?: boolean;
}

declare const luaparse: {
  parse(source: string, options: Options): Chunk;
};
export default luaparse;
