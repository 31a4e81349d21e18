/** What no name of a Web Lock begins with. */
export const RESERVED = "-";

/**
 * The name in the store for a name of a Web Lock: the same, so that `acquire` and `request` exclude each other. No store
 * takes an empty name or one that is no well-formed Unicode; those become `-` and the name as JSON without its quotes.
 */
export function toStoreName(name: string): string {
  return name !== "" && name.isWellFormed() ? name : RESERVED + JSON.stringify(name).slice(1, -1);
}

/** The name of a Web Lock for a name in the store, which may as well be that of a lock of another program. */
export function fromStoreName(stored: string): string {
  if (!stored.startsWith(RESERVED)) return stored;
  try {
    const name: unknown = JSON.parse(`"${stored.slice(RESERVED.length)}"`);
    return typeof name === "string" && toStoreName(name) === stored ? name : stored;
  } catch {
    return stored;
  }
}
