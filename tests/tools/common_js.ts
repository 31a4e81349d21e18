/**
 * The package for `require()`: its modules once more as CommonJS, in the folder `cjs/`.
 *
 * In Node, and in Deno with the package of npm, they are the only copy: there `import` loads a module that only names
 * what its CommonJS exports. So no process, nor a tool in it such as Jest, has two copies of the state of a store, or
 * two classes of each error, whatever loads the package first. Bun and bundlers take the ES modules for both.
 *
 * @module
 */
import ts from "typescript";

/** Where CommonJS is in the package. */
export const COMMON_JS = "cjs/";

/** An entry of `exports`, as `deno pack` writes it. */
export interface Entry {
  readonly types: string;
  readonly default: string;
}

/** The entries of `exports`, by their paths. */
export type Entries = Readonly<Record<string, Entry>>;

/**
 * Writes the modules and the types of a package as CommonJS, and returns the `exports` that name them.
 *
 * @param folder the package, with a slash at its end
 * @param files the paths of its files in it
 * @param program the entry that is a program: it is started, not loaded
 */
export async function addCommonJs(
  folder: string,
  files: readonly string[],
  entries: Entries,
  program?: string,
): Promise<unknown> {
  const written = [write(`${folder}${COMMON_JS}package.json`, `{"type":"commonjs"}\n`)];
  const loaded = Object.entries(entries).filter(([name]) => name !== program);
  for (const path of await reached(folder, files, loaded.map(([, { default: path }]) => path))) {
    const text = await Deno.readTextFile(folder + path);
    written.push(write(folder + COMMON_JS + path, path.endsWith(".js") ? translated(path, text) : text));
  }
  await Promise.all(written);
  const named = Object.entries(entries).map(async ([name, { types, default: path }]) => {
    const [required, requiredTypes] = [path, types].map((path) => path.replace("./", `./${COMMON_JS}`));
    if (name === program) return [name, { types, default: path }] as const;
    const imported = required!.replace(/js$/, "mjs");
    await write(
      folder + imported,
      names(`./${required!.split("/").at(-1)}`, await Deno.readTextFile(folder + required)),
    );
    return [name, {
      types: { require: requiredTypes, default: types },
      bun: path,
      module: path,
      node: { import: imported, require: required },
      require: required,
      default: path,
    }] as const;
  });
  return Object.fromEntries(await Promise.all(named));
}

/** Returns the modules that these entries load, and their types. */
async function reached(folder: string, files: readonly string[], entries: readonly string[]): Promise<Set<string>> {
  const found = new Set<string>();
  const visit = async (module: string) => {
    for (const path of [module, module.replace(/js$/, "d.ts")]) {
      if (found.has(path) || !files.includes(path)) continue;
      found.add(path);
      const text = await Deno.readTextFile(folder + path);
      for (const [, to] of text.matchAll(/\b(?:from|import\()\s*"(\.[^"]+\.js)"/g)) await visit(resolve(path, to!));
    }
  };
  for (const entry of entries) await visit(resolve("", entry));
  return found;
}

/** Returns the path of a file that another one imports. */
function resolve(from: string, specifier: string): string {
  return new URL(specifier, `file:///${from}`).pathname.slice(1);
}

/**
 * Returns a module as CommonJS. All but its imports and exports stays as it is: so both compress to little more than
 * one, and a line of a stack is found in both. It relies on what the tests of the layers check: no cycle.
 *
 * @throws {Error} on what it does not know
 */
export function translated(path: string, text: string): string {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const edits: { start: number; end: number; text: string }[] = [];
  const exported: string[] = [];
  const edit = (node: ts.Node, text: string) => edits.push({ start: node.getStart(), end: node.end, text });
  const unknown = (node: ts.Node) => new Error(`${path}: no CommonJS for "${node.getText().slice(0, 80)}"`);
  const declared = (statement: ts.Statement): readonly string[] => {
    if (ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement)) return [statement.name!.text];
    // Others hold the value of a variable from when they were loaded.
    if (!ts.isVariableStatement(statement) || !(statement.declarationList.flags & ts.NodeFlags.Const)) {
      throw unknown(statement);
    }
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  };
  for (const statement of file.statements) {
    const modifiers = ts.canHaveModifiers(statement) ? ts.getModifiers(statement) ?? [] : [];
    const exportWord = modifiers.find(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
    if (ts.isImportDeclaration(statement)) {
      const bindings = statement.importClause?.namedBindings;
      if (statement.importClause?.name !== undefined || !bindings) throw unknown(statement);
      const bound = ts.isNamespaceImport(bindings)
        ? bindings.name.text
        : `{ ${
          bindings.elements.map(({ propertyName, name }) => propertyName ? pair(propertyName, name) : name.text).join(
            ", ",
          )
        } }`;
      edit(statement, `const ${bound} = require(${statement.moduleSpecifier.getText()});`);
    } else if (ts.isExportDeclaration(statement)) {
      const { exportClause, moduleSpecifier } = statement;
      if (exportClause === undefined || !ts.isNamedExports(exportClause)) throw unknown(statement);
      const from = moduleSpecifier ? `require(${moduleSpecifier.getText()}).` : "";
      const all = exportClause.elements.map(({ propertyName, name }) => {
        return `exports.${name.text} = ${from}${(propertyName ?? name).text};`;
      });
      if (from === "") exported.push(...all);
      edit(statement, from === "" ? "" : all.join("\n"));
    } else if (exportWord !== undefined) {
      if (modifiers.some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword)) throw unknown(statement);
      exported.push(...declared(statement).map((name) => `exports.${name} = ${name};`));
      edits.push({ start: exportWord.getStart(), end: exportWord.end + 1, text: "" });
    } else if (ts.isExportAssignment(statement)) throw unknown(statement);
  }
  const visit = (node: ts.Node): void => {
    if (ts.isMetaProperty(node)) throw unknown(node);
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [module] = node.arguments;
      if (module === undefined || !ts.isStringLiteral(module)) throw unknown(node);
      edit(node, `Promise.resolve().then(() => require(${module.getText()}))`);
    }
    node.forEachChild(visit);
  };
  visit(file);
  const body = edits.sort((a, b) => b.start - a.start).reduce((text, { start, end, text: with_ }) => {
    return text.slice(0, start) + with_ + text.slice(end);
  }, text);
  const head = `"use strict";\nObject.defineProperty(exports, "__esModule", { value: true });\n`;
  return `${head}${body.trimEnd()}\n${exported.map((line) => `${line}\n`).join("")}`;
}

/** An import by another name. */
function pair({ text }: ts.ModuleExportName, name: ts.Identifier): string {
  return `${text}: ${name.text}`;
}

/** Returns an ES module that exports what a CommonJS module at this path does. */
export function names(path: string, text: string): string {
  const from = JSON.stringify(path);
  const all = Array.from(text.matchAll(/^exports\.(\w+) = /gm), ([, name]) => name!);
  return `export { ${all.filter((name) => name !== "default").join(", ")} } from ${from};\n` +
    (all.includes("default") ? `import all from ${from};\nexport default all.default;\n` : "");
}

async function write(path: string, text: string): Promise<void> {
  await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
  await Deno.writeTextFile(path, text);
}
