/** How far the last fence of a block may be ahead of the store's clock, in microseconds. */
const AHEAD_US = 10_000n;

/**
 * Returns how many fences may be reserved: as many as wished, and at least one, but none that is further ahead of the
 * store's clock than is allowed.
 *
 * @param fence the first fence of the block
 * @param wish how many are wished
 * @param now the store's clock, in milliseconds
 */
export function blockLength(fence: bigint, wish: number, now: number): number {
  if (wish <= 1) return 1;
  const room = BigInt(Math.floor(now * 1000)) + AHEAD_US - fence + 1n;
  return Math.max(1, Math.min(wish, Number(room)));
}
