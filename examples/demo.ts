/**
 * What a lock is good for, shown with real processes: without a lock they lose updates of a shared counter, with a lock
 * they lose none; then a holder is killed, and another one is frozen and continues too late.
 *
 * ```sh
 * deno run --allow-run --allow-read --allow-write examples/demo.ts [STORE]
 * ```
 *
 * STORE is explained in `examples/store.ts`; `--help` lists the options.
 *
 * @module
 */
import { Crew } from "../tools/demo/crew.ts";
import { parse, usage } from "../tests/support/command_line.ts";
import { type Options, PROGRAM } from "../tools/demo/options.ts";
import { show } from "../tools/demo/show.ts";

/** The signals that stop the demo, with the exit status that a shell would give. */
const STOPPED = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

Deno.exit(await main());

async function main(): Promise<number> {
  let options: Options | undefined;
  try {
    // Users of npm put "--" before the arguments of a task.
    options = parse(PROGRAM, Deno.args[0] === "--" ? Deno.args.slice(1) : Deno.args);
  } catch (error) {
    // Removes Node's advice on how to pass an argument that begins with a dash: it does not apply here.
    return fail(2, `${reason(error).replace(/\. To specify .*$/s, "")} (--help lists the options)`);
  }
  if (options === undefined) {
    console.log(usage(PROGRAM));
    return 0;
  }
  if (Deno.build.os === "windows") return fail(1, "it kills and freezes processes with POSIX signals: run it in WSL");
  if (globalThis.process?.getBuiltinModule?.("node:sqlite") === undefined) {
    return fail(1, "it needs node:sqlite, which this runtime lacks: use Deno 2.2 or later");
  }
  return await run(options);
}

/** Runs the demo. Leaves no process and no file behind, however it ends. */
async function run({ store, sections }: Options): Promise<number> {
  let status: number | undefined;
  let crew: Crew | undefined;
  // A signal would end the process without cleaning up. Instead it stops the workers, which ends the demo with an
  // error.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    Deno.addSignalListener(signal, () => {
      status ??= STOPPED[signal];
      crew?.stop();
    });
  }
  const directory = Deno.makeTempDirSync({ prefix: "holdfast_demo_" });
  try {
    await using workers = new Crew({
      directory,
      store: store ?? `sqlite:${directory}/locks.db`,
      sections,
      lock: `holdfast-demo:${crypto.randomUUID()}`,
    });
    crew = workers;
    const held = await show(workers);
    status ??= held ? 0 : 1;
  } catch (error) {
    if (status === undefined) return fail(1, reason(error));
    // The wait for a worker that was stopped has failed. The current line still shows the progress, or "^C".
    console.log();
    fail(status, "stopped");
  } finally {
    Deno.removeSync(directory, { recursive: true });
  }
  return status;
}

function fail(status: number, message: string): number {
  console.error(`demo: ${message}`);
  return status;
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
