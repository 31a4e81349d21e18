/** Returns an error and its causes: in Node the cause of a failed `fetch` says why it has failed. */
export function causesOf(error: unknown): unknown[] {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? [error] : [error, ...causesOf(cause)];
}
