import ts from "typescript";
import type { Change } from "./mutant.ts";
import type { Edit, Fault } from "./pinned.ts";
import { descendants, parse, placeOf, shown } from "./places.ts";

/** The place of a fault is not there any more, or there are several. */
export class PlaceError extends Error {
  /** Says what was found instead. */
  constructor({ name, place }: Fault, found: number) {
    super(`"${name}": ${found} nodes of ${place} match instead of one; carry it over in tools/mutants/pinned.ts`);
  }
}

/** Finds the place of a fault in files, by path, and gives what is to be changed there. */
export function pin(
  fault: Fault,
  texts: ReadonlyMap<string, string>,
): { readonly path: string; readonly change: Change } {
  const names = fault.place.split(".");
  // Parsing takes long: only a file that has all the names can have the place.
  const candidates = [...texts].filter(([, text]) => names.every((name) => text.includes(name)));
  const found = candidates.flatMap(([path, text]) =>
    [...descendants(parse(path, text))]
      .filter((node) => isIn(node, fault.place) && matches(node, fault.edit))
      .map((node) => ({ path, change: changeOf(node, fault.edit) }))
  );
  if (found.length !== 1) throw new PlaceError(fault, found.length);
  return found[0]!;
}

function isIn(node: ts.Node, place: string): boolean {
  const present = placeOf(node);
  return present === place || present.startsWith(`${place}.`);
}

function matches(node: ts.Node, edit: Edit): boolean {
  const text = shown(node.getText(), Infinity);
  if ("remove" in edit) return ts.isStatement(node) && edit.remove.test(text);
  if (!ts.isExpression(node)) return false;
  if ("replace" in edit) return edit.replace.test(text);
  return edit.drop.test(text) && ts.isBinaryExpression(node.parent) && isLogical(node.parent);
}

function isLogical({ operatorToken }: ts.BinaryExpression): boolean {
  return ["&&", "||", "??"].includes(operatorToken.getText());
}

function changeOf(node: ts.Node, edit: Edit): Change {
  const at = { operator: "pinned", start: node.getStart(), end: node.getEnd() };
  if ("remove" in edit) return { ...at, replacement: ";" };
  if ("replace" in edit) return { ...at, replacement: edit.by };
  const { left, right } = node.parent as ts.BinaryExpression;
  const kept = node === left ? right : left;
  return { operator: "pinned", start: node.parent.getStart(), end: node.parent.getEnd(), replacement: kept.getText() };
}
