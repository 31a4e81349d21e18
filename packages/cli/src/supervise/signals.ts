import process from "node:process";
import { isatty } from "node:tty";
import { type Child, signalStatus } from "./child.ts";
import type { Signal } from "./processes.ts";

/** Ask a command to end. Passed on to all of its processes, as a terminal does with those of the keyboard. */
const ENDING: readonly Signal[] = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];

/** Passed on to the command alone: they kill every process that does not expect them. */
const OWN: readonly Signal[] = ["SIGUSR1", "SIGUSR2"];

/** Sent by the keyboard to all processes in the foreground of the terminal. */
const KEYBOARD: readonly Signal[] = ["SIGINT", "SIGQUIT"];

/**
 * The signals that this process gets: while there is no command yet they end the wait, then they are passed on to it.
 *
 * Ctrl-Z (SIGTSTP) is refused. While this process were suspended it could not renew the lease, and would lose the lock.
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

  /** Aborts when a signal asked to end before there was a command. */
  get interruption(): AbortSignal {
    return this.#interruption.signal;
  }

  /** The exit status after such a signal; `undefined` if none has come. */
  get status(): number | undefined {
    return this.#interruptedBy === undefined ? undefined : signalStatus(this.#interruptedBy);
  }

  /** Passes on to a command what comes from now on. */
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

/** Whether the command has a terminal that sends it what the keyboard sends. */
function hasTerminal(): boolean {
  return [0, 1, 2].some((fd) => isatty(fd));
}
