import process from "node:process";
import { isatty } from "node:tty";
import { type Child, signalStatus } from "./child.ts";
import type { Signal } from "./processes.ts";

/** The signals that ask a command to end. They are passed on to all its processes, as a terminal does. */
const ENDING: readonly Signal[] = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];

/** The signals that are passed on to the command alone: they kill every process that does not expect them. */
const OWN: readonly Signal[] = ["SIGUSR1", "SIGUSR2"];

/** The signals that the keyboard sends to all processes in the foreground of the terminal. */
const KEYBOARD: readonly Signal[] = ["SIGINT", "SIGQUIT"];

/**
 * The signals to this process. Before the command starts they end the wait; then they are passed on to the command.
 *
 * Ctrl-Z (SIGTSTP) is refused. A suspended process cannot renew the lease, and would lose the lock.
 */
export class Signals {
  readonly #listeners = new Map<Signal | "SIGTSTP", () => void>();
  readonly #interruption = new AbortController();
  #interruptedBy: Signal | undefined;
  #child: Child | undefined;

  /** Begins to listen. */
  constructor(warn: (message: string) => void) {
    for (const name of [...ENDING, ...OWN]) this.#listen(name, () => this.#onSignal(name));
    this.#listen("SIGTSTP", () => {
      // In the foreground, the same key has suspended the command.
      this.#child?.signalCommand("SIGCONT");
      warn("Ctrl-Z is ignored: suspended, the holder would lose its lock");
    });
  }

  /** Aborts when a signal asks to end before the command has started. */
  get interruption(): AbortSignal {
    return this.#interruption.signal;
  }

  /** The exit status after such a signal; `undefined` before. */
  get status(): number | undefined {
    return this.#interruptedBy === undefined ? undefined : signalStatus(this.#interruptedBy);
  }

  /** Passes all further signals on to a command. */
  passTo(child: Child): void {
    this.#child = child;
  }

  /** Stops listening. */
  close(): void {
    for (const [name, listener] of this.#listeners) process.off(name, listener);
  }

  #listen(name: Signal | "SIGTSTP", listener: () => void): void {
    process.on(name, listener);
    this.#listeners.set(name, listener);
  }

  #onSignal(name: Signal): void {
    const child = this.#child;
    if (child === undefined) {
      if (OWN.includes(name)) return;
      this.#interruptedBy ??= name;
      this.#interruption.abort(new Error(`interrupted by ${name}`));
    } else if (child.over) {
      // The lock is being released. What the command has left behind is not this process's to signal.
      return;
    } else if (OWN.includes(name)) {
      child.signalCommand(name);
    } else if (!child.foreground || !KEYBOARD.includes(name) || !hasTerminal()) {
      child.signal(name);
    }
  }
}

/** Whether the command shares a terminal, which sends it the signals of the keyboard. */
function hasTerminal(): boolean {
  return [0, 1, 2].some((fd) => isatty(fd));
}
