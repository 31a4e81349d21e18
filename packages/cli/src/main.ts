import process from "node:process";
import { UsageError, type Verb } from "./command.ts";
import { type CommandLine, readCommandLine, splitVerb } from "./arguments/command_line.ts";
import { loadCommand, loadCommands } from "./commands.ts";
import type { Environment } from "./arguments/environment.ts";
import { errorText, failureOf, STATUS } from "./failure.ts";
import { commandHelp, programHelp } from "./arguments/help.ts";
import { type Interruption, Interruptions } from "./terminal/interruptions.ts";
import { LazyStore } from "./schemes/lazy_store.ts";
import { flushed, processTerminal, write } from "./terminal/terminal.ts";
import { VERSION } from "./version.ts";

/**
 * Runs the command line `holdfast`, on the standard input and output of this process. Resolves to the exit status, and
 * leaves nothing behind; never rejects.
 *
 * @example
 * ```ts ignore
 * import { main } from "@holdfast/cli";
 *
 * const status = await main(["ls", "--store", "redis://127.0.0.1:6379"]);
 * ```
 *
 * @param args the words after the name of the program
 * @param env the environment variables; by default those of this process
 */
export async function main(args: readonly string[], env: Environment = process.env): Promise<number> {
  const interruptions = new Interruptions();
  const status = await run(args, env, interruptions.signal);
  await flushed(interruptions.outputs);
  interruptions.stop();
  // A command may have ended well before it was known.
  return interruptions.brokenOutput?.status ?? status;
}

async function run(args: readonly string[], env: Environment, signal: AbortSignal): Promise<number> {
  try {
    return await dispatch(args, env, signal);
  } catch (error) {
    if (signal.aborted && error === signal.reason) return (error as Interruption).status;
    const { status, message } = failureOf(error);
    write(process.stderr, errorText(message));
    return status;
  }
}

async function dispatch(args: readonly string[], env: Environment, signal: AbortSignal): Promise<number> {
  const { verb, others } = splitVerb(args);
  if (verb === undefined) return await withoutVerb(readCommandLine(others, {}));
  if (verb === "help") return await help(readCommandLine(others, {}));
  const command = await loadCommand(verb);
  const line = readCommandLine(others, command.options);
  if (line.global.help) return print(commandHelp(command));
  if (line.global.version) return print(`holdfast ${VERSION}`);
  return await runCommand(command, line, env, signal);
}

async function withoutVerb({ global, rest }: CommandLine): Promise<number> {
  const { help, version, stores, config, json } = global;
  if (version) return print(`holdfast ${VERSION}`);
  if (!help && (stores.length > 0 || config !== undefined || json || rest.length > 0)) {
    throw new UsageError("the verb is missing, such as ls: see holdfast --help");
  }
  return print(programHelp(await loadCommands()));
}

async function runCommand(command: Verb, line: CommandLine, env: Environment, signal: AbortSignal): Promise<number> {
  const { global: { stores, config, json, colours }, options, lists, args, rest } = line;
  const terminal = processTerminal({ json, colours, env, signal });
  const door = new LazyStore({ stores, config, env }, signal);
  try {
    const store = door.open.bind(door);
    const examine = door.examine.bind(door);
    return await command.run({ options, lists, args, rest, terminal, env, signal, store, examine });
  } catch (error) {
    throw await door.diagnosed(error);
  } finally {
    await door.close();
  }
}

async function help({ args: [verb] }: CommandLine): Promise<number> {
  return print(verb === undefined ? programHelp(await loadCommands()) : commandHelp(await loadCommand(verb)));
}

function print(text: string): number {
  write(process.stdout, `${text}\n`);
  return STATUS.ok;
}
