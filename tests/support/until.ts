/** Resolves when the condition holds, and rejects when that takes longer than the limit, in milliseconds. */
export async function until(condition: () => boolean | Promise<boolean>, what: string, limit = 10_000): Promise<void> {
  for (const started = performance.now(); !await condition();) {
    if (performance.now() - started > limit) throw new Error(`not within ${limit} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
