/**
 * The fault suite, `deno task faults`: processes hold locks on a real deployment while that is broken in every way, and
 * what they saw is checked.
 *
 * @module
 */
import { INTERRUPTED, readOptions } from "../../support/command_line.ts";
import { Interruption, premature, reason } from "../../support/interruption.ts";
import { requirements } from "../../tools/requirements.ts";
import { pause } from "./fault.ts";
import { type Options, PROGRAM } from "./options.ts";
import { line, report } from "./report.ts";
import { run } from "./run.ts";

/** How long a run that is interrupted may take to stop everything, in milliseconds: longer than to start it. */
const GRACE = 8_000;

/** The longest time that a timer takes, in milliseconds. */
const NO_LIMIT = 2 ** 31 - 1;

/** How often progress is reported where there is no terminal, in milliseconds. */
const REPORT_EVERY_MS = 10_000;

async function main(args: string[]): Promise<number> {
  const options = readOptions(PROGRAM, args);
  if (typeof options === "number") return options;
  const ended = premature();
  try {
    return await breakIt(options, ended);
  } catch (error) {
    console.error(`${reason(error)}\nThe seed was ${options.seed}.`);
    return ended.reason instanceof Interruption ? INTERRUPTED : 1;
  }
}

async function breakIt(options: Options, ended: AbortSignal): Promise<number> {
  for (const [name, program] of Object.entries(await requirements())) Deno.env.set(name, program);
  // All files of the run in one place.
  const scratch = Deno.makeTempDirSync({ prefix: "holdfast_run_" });
  // A database server does not run as root: it must get to its own folder in there.
  if (Deno.build.os !== "windows") Deno.chmodSync(scratch, 0o711);
  Deno.env.set("TMPDIR", scratch);
  const stack = new AsyncDisposableStack();
  const over = Promise.withResolvers<never>();
  ended.addEventListener("abort", () => over.reject(ended.reason));
  let reportedAt = -Infinity;
  const running = run(options, stack, (progress) => {
    if (Deno.stderr.isTerminal()) return show(line(progress));
    if (progress.elapsed < reportedAt + REPORT_EVERY_MS) return;
    reportedAt = progress.elapsed;
    console.error(line(progress));
  });
  try {
    const outcome = await Promise.race([running, over.promise]);
    show("");
    console.log(report(outcome));
    return outcome.violations.length === 0 ? 0 : 1;
  } finally {
    show("");
    // A terminal interrupts the servers as well: then a deployment that is just being started waits for ever.
    const grace = new AbortController();
    await Promise.race([stack.disposeAsync(), pause(ended.aborted ? GRACE : NO_LIMIT, grace.signal)]);
    grace.abort();
    Deno.removeSync(scratch, { recursive: true });
  }
}

/** Shows one line on a terminal, which changes. */
function show(text: string): void {
  if (!Deno.stderr.isTerminal()) return;
  const { columns } = Deno.consoleSize();
  Deno.stderr.writeSync(new TextEncoder().encode(`\r\x1b[K${text.slice(0, columns - 1)}`));
}

// A fault that was interrupted may go on for a while, without an effect.
if (import.meta.main) Deno.exit(await main(Deno.args));
