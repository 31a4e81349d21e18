/** Returns the message of any error. */
export function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message !== "") return error.message;
  // The form in which Node reports that no address of a host could be reached.
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.map(reason).join("; ");
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
