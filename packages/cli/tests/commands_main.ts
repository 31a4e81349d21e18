/**
 * Runs the commands whose words it is sent, one after the other, and writes what became of each: tests of what a
 * command says need no process for each of them.
 *
 * @module
 */
import process from "node:process";
import { lines } from "../../../tests/support/lines.ts";
import { main } from "../mod.ts";
import { takeWarnings } from "../src/terminal/warnings.ts";

/** A command, as a line of JSON on the standard input. */
export interface Command {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

const { stdout, stderr } = process;
const answer = stdout.write.bind(stdout);

const written = { out: "", err: "" };
for (const [output, name] of [[stdout, "out"], [stderr, "err"]] as const) {
  output.write = (text: unknown, done?: unknown) => {
    written[name] += text;
    if (typeof done === "function") done();
    return true;
  };
}
// Client libraries write there.
console.log = console.info = (...words) => void (written.out += `${words.join(" ")}\n`);
console.error = console.warn = (...words) => void (written.err += `${words.join(" ")}\n`);

takeWarnings();
for await (const line of lines(Deno.stdin.readable)) {
  const { args, env, cwd }: Command = JSON.parse(line);
  Deno.chdir(cwd);
  written.out = written.err = "";
  const status = await main(args, env);
  if (process.listenerCount("SIGTERM") > 0) throw new Error(`${args} still waits for signals`);
  answer(`${JSON.stringify({ status, ...written })}\n`);
}
