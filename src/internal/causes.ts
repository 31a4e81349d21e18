/** Returns an error and what has caused it: Node says in a cause what has failed. */
export function causesOf(error: unknown): unknown[] {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? [error] : [error, ...causesOf(cause)];
}
