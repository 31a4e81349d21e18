import { type Claim, type Entry, handleOf, type QueryOptions, type WaiterEntry } from "../../contract/store.ts";
import { readMeta } from "../process/meta.ts";
import { checkKeys, show } from "../validation.ts";

/** Returns the entry under which {@linkcode Store.query} lists the handle of a claim. */
export function entryOf(claim: Claim): Entry {
  const { name, owner, mode, permits } = claim;
  return { name, owner, handle: handleOf(claim), mode, permits, meta: readMeta(claim.meta) };
}

export function checkQuery(options: QueryOptions = {}): QueryOptions {
  const { name, match, limit, cursor } = checkKeys(options, ["name", "match", "limit", "cursor"]);
  for (const [option, value] of Object.entries({ name, match, cursor })) {
    if (value !== undefined && typeof value !== "string") {
      throw new TypeError(`${option} must be a string: got ${show(value)}`);
    }
  }
  if (limit !== undefined) checkLimit(limit);
  if (name !== undefined && match !== undefined) throw new TypeError("name and match must not be given together");
  return options;
}

function checkLimit(limit: number): void {
  if (typeof limit !== "number") throw new TypeError(`limit must be a number: got ${show(limit)}`);
  if (!Number.isInteger(limit) || limit < 1) {
    throw new RangeError(`limit must be a whole number from 1 on: got ${limit}`);
  }
}

/**
 * Returns a function that tells whether a name is selected: by `name`, or by `match`, in which `*` is any text.
 *
 * @example
 * ```ts
 * import { nameFilter } from "@holdfast/lock/authors";
 *
 * const isInvoice = nameFilter({ match: "invoice:*" });
 * console.log(isInvoice("invoice:42"), isInvoice("order:42")); // true false
 * ```
 */
export function nameFilter({ name, match }: QueryOptions): (name: string) => boolean {
  if (name !== undefined) return (other) => other === name;
  if (match === undefined) return () => true;
  const [first = "", ...rest] = match.split("*");
  const last = rest.pop();
  return (other) => {
    if (last === undefined) return other === first;
    if (!other.startsWith(first) || !other.endsWith(last)) return false;
    let place = first.length;
    // Each part where it comes first leaves the most to those behind it.
    for (const part of rest) {
      const found = other.indexOf(part, place);
      if (found < 0) return false;
      place = found + part.length;
    }
    return place <= other.length - last.length;
  };
}

/**
 * Returns a page of the selected names, in the order of their UTF-16 code units, and the cursor of the next page: for
 * stores that know all their names at once. The cursor is the last name of a page.
 */
export function pageOf(
  names: Iterable<string>,
  options: QueryOptions,
): { readonly names: string[]; readonly cursor: string | undefined } {
  const { limit = Infinity, cursor } = options;
  const wanted = [...names].filter(nameFilter(options)).sort();
  const rest = cursor === undefined ? wanted : wanted.filter((name) => name > cursor);
  const page = limit === Infinity ? rest : rest.slice(0, limit);
  return { names: page, cursor: page.length < rest.length ? page.at(-1) : undefined };
}

/** Returns entries by the names of their locks, in their order. */
export function byName<E extends Entry>(entries: readonly E[]): Map<string, E[]> {
  const names = new Map<string, E[]>();
  for (const entry of entries) {
    const others = names.get(entry.name);
    if (others === undefined) names.set(entry.name, [entry]);
    else others.push(entry);
  }
  return names;
}

/**
 * Returns the waiters with their ranks; the waiters of each name are given in the order in which they will be served.
 */
export function withRanks<E extends Entry>(waiters: readonly E[]): (E & WaiterEntry)[] {
  const ahead = new Map<string, number>();
  return waiters.map((waiter) => {
    const rank = ahead.get(waiter.name) ?? 0;
    ahead.set(waiter.name, rank + 1);
    return { ...waiter, rank };
  });
}
