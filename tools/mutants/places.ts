import ts from "typescript";

/** Reads a file of TypeScript. */
export function parse(path: string, text: string): ts.SourceFile {
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
}

/** Returns the functions, methods and constants around a node by their names, such as `Lease.#renew`; "" at the top. */
export function placeOf(node: ts.Node): string {
  const names: string[] = [];
  for (let each: ts.Node | undefined = node.parent; each !== undefined; each = each.parent) {
    const name = nameOf(each);
    if (name !== undefined) names.unshift(name);
  }
  return names.join(".");
}

function nameOf(node: ts.Node): string | undefined {
  if (ts.isConstructorDeclaration(node)) return "constructor";
  // Of constants inside functions only those that are functions themselves.
  if (ts.isVariableDeclaration(node) && !isNamed(node)) return undefined;
  const named = ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node) || ts.isMethodDeclaration(node) ||
    ts.isAccessor(node) || ts.isPropertyDeclaration(node) || ts.isVariableDeclaration(node);
  return named ? node.name?.getText() : undefined;
}

function isNamed({ initializer, parent }: ts.VariableDeclaration): boolean {
  if (initializer !== undefined && (ts.isArrowFunction(initializer) || ts.isFunctionExpression(initializer))) {
    return true;
  }
  return ts.isVariableStatement(parent.parent) && ts.isSourceFile(parent.parent.parent);
}

/** Returns all nodes under a node, in the order of the text. */
export function* descendants(node: ts.Node): Iterable<ts.Node> {
  // Not forEachChild() itself, which cannot be left before its end.
  const children: ts.Node[] = [];
  ts.forEachChild(node, (child) => void children.push(child));
  for (const child of children) {
    yield child;
    yield* descendants(child);
  }
}

/** Returns a text on one line, as short as it can be shown. */
export function shown(text: string, most = 100): string {
  const line = text.replace(/\/\*.*?\*\/|\/\/.*$/gms, "").replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}
