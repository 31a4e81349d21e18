/**
 * Runs a command on a machine that is kept busy: `deno task busy`.
 *
 * @module
 */
import { setTimeout as sleep } from "node:timers/promises";
import { flag, INTERRUPTED, type Option, program, readOptions, whole } from "../support/command_line.ts";

/** What is run, and what it is given. */
const COMMAND: Option<readonly string[]> = {
  kind: "command",
  value: "command",
  help: "what is run, with its arguments",
  read: (words) => {
    if (words.length === 0) throw new Error("There is no command");
    return words;
  },
};

/** `deno task busy`. */
export const PROGRAM = program({
  about: "Runs a command on a machine that is kept busy: its tests must pass there as well.",
  usage: "deno task busy [options] command [arguments...]",
  options: {
    command: COMMAND,
    loops: whole("N", "busy loops beside the command", { least: 0, most: 64, default: 8 }),
    nice: whole("N", "how much the command steps back behind other work", { least: 0, most: 19, default: 0 }),
    stop: flag("again and again stops one process of the command, drawn by lot, for 100 to 300 ms"),
  },
  notes: `For example: deno task busy --loops 4 deno task test

    The exit status is that of the command.`,
});

/** Returns the processes that descend from a process, the process itself first. */
async function descendants(root: number): Promise<number[]> {
  const { stdout } = await new Deno.Command("ps", { args: ["-e", "-o", "pid=,ppid="] }).output();
  const rows = new TextDecoder().decode(stdout).trim().split("\n").map((row) => row.trim().split(/ +/).map(Number));
  const found = [root];
  for (const pid of found) found.push(...rows.flatMap(([child, parent]) => parent === pid ? [child!] : []));
  return found;
}

/** Sends a signal to a process, which may have ended. */
function send(pid: number, signal: Deno.Signal): void {
  try {
    Deno.kill(pid, signal);
  } catch { /* it has ended */ }
}

/** Makes a cgroup whose processes can be frozen, and prints its path and where it is mounted. */
const MAKE = `for mount in /sys/fs/cgroup /sys/fs/cgroup/unified; do
  [ -f $mount/cgroup.controllers ] && mkdir $mount/$1 && echo $mount/$1 $mount && exit
done; exit 1`;

/** Freezes process $1 for $2 seconds in the cgroup $3, and moves it back to its own below $4. */
const FREEZE =
  `own=$(sed -n 's/^0:://p' /proc/$1/cgroup) && echo $1 >$3/cgroup.procs && echo 1 >$3/cgroup.freeze && sleep $2
echo 0 >$3/cgroup.freeze
for pid in $(cat $3/cgroup.procs); do echo $pid >$4$own/cgroup.procs; done`;

/** Stops process $1 for $2 seconds with signals, unless it is stopped. */
const STOP = `case $(ps -o stat= -p $1) in T*) sleep $2;; *) kill -STOP $1; sleep $2; kill -CONT $1;; esac`;

/** Runs a script of the shell, and returns what it prints; `undefined` if it fails. */
async function shell(script: string, ...args: readonly string[]): Promise<string | undefined> {
  const command = new Deno.Command("sh", { args: ["-c", script, "busy", ...args], stderr: "null" });
  const { success, stdout } = await command.output();
  return success ? new TextDecoder().decode(stdout).trim() : undefined;
}

/**
 * Stops a process of a command for a moment, again and again. Returns how often. A process that a test has stopped must
 * stay stopped: where the system lets it, this program freezes them without a signal.
 */
async function stopAtRandom(root: number, over: AbortSignal): Promise<number> {
  const [group, mount = ""] = (await shell(MAKE, `holdfast_busy_${Deno.pid}`))?.split(" ") ?? [];
  let stops = 0;
  while (!over.aborted) {
    const pids = await descendants(root);
    const pid = pids[Math.floor(Math.random() * pids.length)]!;
    await shell(group === undefined ? STOP : FREEZE, `${pid}`, `${0.1 + 0.2 * Math.random()}`, group ?? "", mount);
    stops++;
    await sleep(100 * Math.random());
  }
  if (group !== undefined) await shell(`rmdir $1`, group);
  return stops;
}

async function main(args: string[]): Promise<number> {
  const options = readOptions(PROGRAM, args);
  if (typeof options === "number") return options;
  // A loop ends with this program, however that ends.
  const loop = ["-c", "while kill -0 $1 2>/dev/null; do :; done", "busy", `${Deno.pid}`];
  const loops = Array.from({ length: options.loops }, () => new Deno.Command("sh", { args: loop }).spawn());
  const child = new Deno.Command("nice", { args: ["-n", `${options.nice}`, ...options.command] }).spawn();
  const over = new AbortController();
  let interrupted = false;
  const interrupt = () => {
    interrupted = true;
    send(child.pid, "SIGINT");
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, interrupt);
  const stopping = options.stop ? stopAtRandom(child.pid, over.signal) : undefined;
  const { code } = await child.status;
  over.abort();
  for (const { pid } of loops) send(pid, "SIGKILL");
  await Promise.all(loops.map(({ status }) => status));
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.removeSignalListener(signal, interrupt);
  if (stopping !== undefined) console.error(`processes stopped: ${await stopping} times`);
  return interrupted ? INTERRUPTED : code;
}

if (import.meta.main) Deno.exitCode = await main(Deno.args);
