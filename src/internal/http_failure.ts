/** How much is quoted of an answer that is not one of the protocol, in characters. */
const LONGEST_LINE = 200;

/** Returns an error and its causes: in Node the cause of a failed `fetch` says why it has failed. */
export function causesOf(error: unknown): unknown[] {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? [error] : [error, ...causesOf(cause)];
}

/** Returns whether Deno was not permitted to send the request. */
export function isDenied(error: unknown): boolean {
  return causesOf(error).some((each) => each instanceof Error && each.name === "NotCapable");
}

/** Returns the first line of an answer, to quote it: it may be a whole page. */
export function firstLine(text: string): string {
  const [line = ""] = text.trim().split("\n");
  return line.slice(0, LONGEST_LINE);
}
