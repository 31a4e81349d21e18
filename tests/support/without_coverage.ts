/**
 * Returns the environment for a process that a test starts, together with `clearEnv`. `deno test --coverage` would make
 * it collect coverage too, which takes several times as long.
 */
export function withoutCoverage(): Record<string, string> {
  const { DENO_COVERAGE_DIR: _, ...env } = Deno.env.toObject();
  return env;
}
