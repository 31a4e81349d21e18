import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import process from "node:process";
import { Processes, type Signal } from "./processes.ts";

/** How a command is started. */
export interface ChildOptions {
  /** Its whole environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether it stays in the process group and the session of this process, and so has its terminal. */
  readonly foreground: boolean;
  /** Called at the moment of its start, before this process can stall or do something else. */
  readonly onStart: (child: Child) => void;
}

/**
 * A command that runs with the standard input and output of this process.
 *
 * It gets a session and thereby a process group of its own: one `kill` reaches it and the processes that it has started,
 * also after it has ended itself. Otherwise `sh -c "first; second"` would end on SIGTERM, and its child would go on
 * without the lock. The price is that it has no controlling terminal. It can read from the terminal and write to it, but
 * job control, `/dev/tty` and Ctrl-C are those of this process, which passes Ctrl-C on. With `foreground` the command
 * stays in the group of the terminal, which sends Ctrl-C itself, and signals reach it alone: the group is also that of
 * this process and of others in the same pipeline. On Windows, which has no process groups, every command is like that.
 */
export class Child {
  /** Resolves to the exit status when it has ended: its own, or 128 and the number of the signal that killed it. */
  readonly ended: Promise<number>;
  /** Whether the terminal sends it Ctrl-C. */
  readonly foreground: boolean;
  readonly #command: Processes;
  readonly #all: Processes;
  #over = false;

  /** Wraps a process that was started, with its id. */
  constructor(child: ChildProcess, id: number, foreground: boolean) {
    this.foreground = foreground;
    this.#command = new Processes(id);
    this.#all = foreground ? this.#command : new Processes(-id);
    this.ended = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        this.#over = true;
        resolve(signal === null ? code ?? 1 : signalStatus(signal));
      });
    });
  }

  /** Starts a command. Rejects if it cannot be started. */
  static async start(command: readonly string[], options: ChildOptions): Promise<Child> {
    const [file = "", ...words] = command;
    const foreground = options.foreground || process.platform === "win32";
    const child = spawn(file, words, { stdio: "inherit", detached: !foreground, env: options.env });
    const started = new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.on("error", reject);
    });
    const { pid } = child;
    const running = pid === undefined ? undefined : new Child(child, pid, foreground);
    if (running !== undefined) options.onStart(running);
    await started;
    if (running === undefined) throw new Error(`no process was started for ${file}`);
    return running;
  }

  /** Whether the command itself has ended. */
  get over(): boolean {
    return this.#over;
  }

  /** Whether it, or a process that it has started, is left. */
  get alive(): boolean {
    return this.#reachable && this.#all.alive;
  }

  /** Sends a signal to it and to the processes that it has started. */
  signal(name: Signal): void {
    if (this.#reachable) this.#all.signal(name);
  }

  /** Sends a signal to it alone. */
  signalCommand(name: Signal): void {
    if (!this.#over) this.#command.signal(name);
  }

  /** The id of what signals are sent to, as `kill(2)` takes it. */
  get id(): number {
    return this.#all.id;
  }

  /** Whether the id still means what was started: that of a process may be another one's once it has ended. */
  get #reachable(): boolean {
    return !this.#over || !this.foreground;
  }
}

/** Returns the exit status of a process that a signal has killed, as shells have it. */
export function signalStatus(name: string): number {
  const numbers: Readonly<Record<string, number>> = constants.signals;
  return 128 + (numbers[name] ?? 0);
}
