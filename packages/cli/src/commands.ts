import { UsageError, type Verb } from "./command.ts";
import { shown } from "./terminal/shown.ts";

/** The verbs in the order of the help. A verb is loaded when it is used. */
const COMMANDS: Readonly<Record<string, () => Promise<Verb>>> = {
  run: async () => (await import("./commands/run.ts")).run,
  ls: async () => (await import("./commands/ls.ts")).ls,
  show: async () => (await import("./commands/show.ts")).show,
  watch: async () => (await import("./commands/watch.ts")).watch,
  wait: async () => (await import("./commands/wait.ts")).wait,
  evict: async () => (await import("./commands/evict.ts")).evict,
  doctor: async () => (await import("./commands/doctor.ts")).doctor,
  dashboard: async () => (await import("./commands/dashboard.ts")).dashboard,
  completion: async () => (await import("./commands/completion.ts")).completion(loadCommands),
};

/** Loads the command of a verb; throws a `UsageError` if there is none. */
export async function loadCommand(verb: string): Promise<Verb> {
  const load = Object.hasOwn(COMMANDS, verb) ? COMMANDS[verb] : undefined;
  if (load !== undefined) return await load();
  throw new UsageError(`unknown verb ${shown(verb)}: there are ${Object.keys(COMMANDS).join(", ")}`);
}

/** Loads the commands of all verbs. */
export async function loadCommands(): Promise<Verb[]> {
  return await Promise.all(Object.values(COMMANDS).map((load) => load()));
}
