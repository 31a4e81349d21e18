import process from "node:process";

/** A signal that is sent to commands. */
export type Signal = "SIGCONT" | "SIGHUP" | "SIGINT" | "SIGKILL" | "SIGQUIT" | "SIGTERM" | "SIGUSR1" | "SIGUSR2";

/** Processes that signals are sent to: one by its id, or all of a process group by the negative id of that. */
export class Processes {
  /** The id as `kill(2)` takes it. */
  readonly id: number;

  /** Wraps an id. */
  constructor(id: number) {
    this.id = id;
  }

  /** Whether one of them is left. */
  get alive(): boolean {
    return this.#send(0);
  }

  /** Sends a signal to each of them that is left. */
  signal(name: Signal): void {
    this.#send(name);
  }

  /** Returns whether a signal found one of them. */
  #send(signal: Signal | 0): boolean {
    try {
      process.kill(this.id, signal);
      return true;
    } catch (error) {
      // EPERM: there is one, which this user may not signal, such as sudo.
      return !(error instanceof Error && "code" in error && error.code === "ESRCH");
    }
  }
}
