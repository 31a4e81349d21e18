/** The prefix that names of Web Locks must not have. */
export const RESERVED = "-";

/**
 * Returns the name in the store for a name of a Web Lock. The names are equal, so that `acquire` and `request` exclude
 * each other. But no store takes an empty name, or a name that is not well-formed Unicode: such names become `-`,
 * followed by the name as JSON without its quotes.
 */
export function toStoreName(name: string): string {
  return name !== "" && name.isWellFormed() ? name : RESERVED + JSON.stringify(name).slice(1, -1);
}

/** Returns the name of a Web Lock for a name in the store, which may belong to another program. */
export function fromStoreName(stored: string): string {
  if (!stored.startsWith(RESERVED)) return stored;
  try {
    const name: unknown = JSON.parse(`"${stored.slice(RESERVED.length)}"`);
    return typeof name === "string" && toStoreName(name) === stored ? name : stored;
  } catch {
    return stored;
  }
}
