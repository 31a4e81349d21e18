/** Returns the pause before the next try, in milliseconds: the first one, doubled with each retry, up to the longest. */
export function backoffMs(retries: number, first: number, longest: number): number {
  return Math.min(first * 2 ** retries, longest);
}
