/**
 * Returns whether an error of node-redis is a reply of the server. Its classes have names that bundlers change, so the
 * words decide: a reply begins with a word in capitals, and an error of the system has a code.
 */
export function isReply(error: unknown): error is Error {
  return error instanceof Error && /^[A-Z][A-Z0-9]+(?: |$)/.test(error.message) && !("code" in error);
}
