import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import process from "node:process";
import { Processes, type Signal } from "./processes.ts";

/** The options for starting a command. */
export interface ChildOptions {
  /** Its whole environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether the command stays in the process group and the session of this process, and so has its terminal. */
  readonly foreground: boolean;
  /** Called at the moment of the start, before this process can stall. */
  readonly onStart: (child: Child) => void;
}

/**
 * A command that runs with the standard input and output of this process.
 *
 * It gets a session and thereby a process group of its own: one `kill` reaches the command and the processes that it
 * has started, even after its own end. Otherwise `sh -c "first; second"` would end on SIGTERM, and its child would go
 * on without the lock. The price is that it has no controlling terminal. It can read from the terminal and write to it;
 * but job control, `/dev/tty` and Ctrl-C belong to this process, which passes Ctrl-C on. With `foreground` the command
 * stays in the group of the terminal, which sends Ctrl-C itself, and signals reach it alone: the group is also that of
 * this process and of others in the same pipeline. On Windows, which has no process groups, every command runs in this
 * way.
 */
export class Child {
  /** Resolves to the exit status of the command: its own, or 128 plus the number of the signal that killed it. */
  readonly ended: Promise<number>;
  /** Whether the terminal sends Ctrl-C to the command. */
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

  /** Whether the command, or a process that it has started, still runs. */
  get alive(): boolean {
    return this.#reachable && this.#all.alive;
  }

  /** Sends a signal to the command and to the processes that it has started. */
  signal(name: Signal): void {
    if (this.#reachable) this.#all.signal(name);
  }

  /** Sends a signal to the command alone. */
  signalCommand(name: Signal): void {
    if (!this.#over) this.#command.signal(name);
  }

  /** The id for signals, as `kill(2)` takes it. */
  get id(): number {
    return this.#all.id;
  }

  /** Whether the id still means the command: the system may give a process's id to another after its end. */
  get #reachable(): boolean {
    return !this.#over || !this.foreground;
  }
}

/** Returns the exit status of a process killed by a signal, as shells have it. */
export function signalStatus(name: string): number {
  const numbers: Readonly<Record<string, number>> = constants.signals;
  return 128 + (numbers[name] ?? 0);
}
