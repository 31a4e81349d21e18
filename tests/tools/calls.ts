import { lines } from "../support/lines.ts";
import { type Ended, type Results, resultsOf } from "./results.ts";
import { together } from "./together.ts";

/** A call of `deno test`. */
export interface Call {
  readonly args: readonly string[];
  /** How many test files run at a time. */
  readonly jobs: number;
  /** What the tests may do; everything, when left out. */
  readonly permissions?: readonly string[];
  /** Whether the others come first where the processor is busy. */
  readonly nice?: boolean;
  /** Unit tests that run in a few modules. */
  readonly together?: readonly string[];
  /** The test files of which each must run a test. */
  readonly files?: readonly string[];
}

/** What some calls of `deno test` have come to; `"interrupted"` after Ctrl-C. */
export type Outcome = readonly Results[] | "interrupted";

/** What is loaded before each test file. */
const LIMIT = new URL("limit.ts", import.meta.url).pathname;

/** How long something that a test has left behind may keep the output open, in milliseconds. */
const LEFTOVER_MS = 5_000;

/** Runs some calls of `deno test` at a time, in a folder for temporary files of their own. */
export async function runTests(calls: readonly Call[], env: Record<string, string>): Promise<Outcome> {
  const scratch = await Deno.makeTempDir({ prefix: "holdfast_tests_" });
  // A database server does not run as root: it must get to its own folder, though it cannot list this one.
  if (Deno.build.os !== "windows") await Deno.chmod(scratch, 0o711);
  const running = new Set<Deno.ChildProcess>();
  let interrupted = false;
  const stop = () => {
    interrupted = true;
    for (const { pid } of running) Deno.kill(-pid, "SIGTERM");
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, stop);
  const ended = await Promise.all(
    calls.map((call, i) => run(call, `${scratch}/report${i}.xml`, running, env, scratch)),
  );
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.removeSignalListener(signal, stop);
  await Deno.remove(scratch, { recursive: true });
  return interrupted ? "interrupted" : ended.map((end, i) => resultsOf(end, calls[i]!.files));
}

async function run(
  { args, jobs, permissions = ["--allow-all"], nice = false, together: shared = [] }: Call,
  path: string,
  running: Set<Deno.ChildProcess>,
  env: Record<string, string>,
  scratch: string,
): Promise<Ended> {
  const { modules, named } = together(shared, scratch);
  const test = new Deno.Command("nice", {
    args: [
      "-n",
      nice ? "3" : "0",
      Deno.execPath(),
      "test",
      `--preload=${LIMIT}`,
      `--junit-path=${path}`,
      ...permissions,
      ...modules,
      ...args,
    ],
    env: { ...env, TMPDIR: scratch, DENO_JOBS: `${jobs}` },
    stdin: "null",
    stdout: "piped",
    // A group of its own, so that the servers which the tests have started end with it.
    detached: true,
  }).spawn();
  running.add(test);
  let output = "";
  const printed = (async () => {
    for await (const printed of lines(test.stdout)) {
      const line = named(printed);
      console.log(line);
      output += `${line}\n`;
    }
  })();
  const { code } = await test.status;
  running.delete(test);
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([printed, new Promise((resolve) => timer = setTimeout(resolve, LEFTOVER_MS))]);
  clearTimeout(timer);
  return { code, output, report: await Deno.readTextFile(path).catch(() => "") };
}

/** Returns how many of the results are failures. */
export function failures(results: readonly Results[]): number {
  return results.reduce((sum, { failed, unnamed }) => sum + failed.length + unnamed, 0);
}

/** Returns the line that sums results up. */
export function count(results: readonly Results[]): string {
  const sum = (of: "passed" | "ignored") => results.reduce((sum, each) => sum + each[of].length, 0);
  const skipped = sum("ignored");
  const total = `${sum("passed")} passed, ${failures(results)} failed`;
  return skipped > 0 ? `${total}, ${skipped} skipped` : total;
}
