/** Resolves when the condition holds, and rejects when that takes longer than ten seconds. */
export async function until(condition: () => Promise<boolean>, what: string): Promise<void> {
  for (const started = performance.now(); !await condition();) {
    if (performance.now() - started > 10_000) throw new Error(`waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
