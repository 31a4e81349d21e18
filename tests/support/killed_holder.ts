import { assert } from "@std/assert";
import { lines } from "./lines.ts";
import { withoutCoverage } from "./without_coverage.ts";

/**
 * Runs a program of Deno that acquires a lock and prints its fence, and kills it while it holds that. Returns the
 * fence.
 */
export async function killHolder(program: URL, ...args: readonly string[]): Promise<bigint> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-check", "--unstable-kv", "--allow-all", program.pathname, ...args],
    clearEnv: true,
    env: withoutCoverage(),
    stdin: "null",
    stdout: "piped",
  }).spawn();
  let fence: string | undefined;
  for await (const line of lines(child.stdout)) {
    fence = line;
    child.kill("SIGKILL");
  }
  await child.status;
  assert(fence !== undefined, "it held the lock");
  return BigInt(fence);
}
