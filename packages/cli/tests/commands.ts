import { DenoProcess } from "../../../tests/support/deno_process.ts";
import { inTime } from "../../../tests/support/in_time.ts";
import { commandOf, LIMIT, type Result, type Start } from "./cli_process.ts";

/** The process of this test file that runs commands. */
let commands: DenoProcess | undefined;

Deno.test.beforeAll(() => void (commands = new DenoProcess(import.meta.resolve("./commands_main.ts"))));
Deno.test.afterAll(() => commands?.kill());

/**
 * Runs a command to its end, in a process that the tests of a file share, without a terminal. For `run`, whose command
 * writes by itself, and for what belongs to a process there is `holdfast()` of `cli_process.ts`.
 */
export async function holdfast(args: readonly string[], start: Omit<Start, "flags"> = {}): Promise<Result> {
  const { env, words } = commandOf(args, start);
  const answer = commands!.lines.next();
  await commands!.write(`${JSON.stringify({ args: words, env, cwd: start.cwd ?? Deno.cwd() })}\n`);
  const { value, done } = await inTime(answer, LIMIT, "the command");
  if (done) throw new Error(`the process that runs commands has ended, at ${words}`);
  return JSON.parse(value);
}
