/** How long what must happen may take on the slowest machine, in milliseconds: only what hangs takes as long. */
export const HANG_MS = 60_000;

/** Shorter than the default lease, in milliseconds, so that what has expired is not taken for what was cleaned up. */
const LIMIT_MS = 25_000;

/** Resolves when the condition holds, and rejects when that takes longer than the limit, in milliseconds. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  limit = LIMIT_MS,
): Promise<void> {
  for (const started = performance.now(); !await condition();) {
    if (performance.now() - started > limit) throw new Error(`not within ${limit} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
