/** The message of Node's modules in Deno for a host that its permissions do not allow. */
export const DENIED_LOOKUP = /^getaddrinfo EPERM (\S+)/;

/**
 * Returns the message of any error: of one without a message its code or its name.
 *
 * @example
 * ```ts
 * import { reason } from "@holdfast/lock/authors";
 *
 * console.log(reason(new Error("the server is gone")), reason("no")); // the server is gone no
 * ```
 */
export function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const [, host] = DENIED_LOOKUP.exec(error.message) ?? [];
  if (host !== undefined) return `Requires net access to "${host}", run again with --allow-net=${host}`;
  if (error.message !== "") return error.message;
  // The form in which Node reports that no address of a host could be reached.
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.map(reason).join("; ");
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
