import process from "node:process";

/** A signal that is sent to commands. */
export type Signal = "SIGCONT" | "SIGHUP" | "SIGINT" | "SIGKILL" | "SIGQUIT" | "SIGTERM" | "SIGUSR1" | "SIGUSR2";

/** Processes to signal: one process by its id, or a process group by its negative id. */
export class Processes {
  /** The id as `kill(2)` takes it. */
  readonly id: number;

  /** Wraps an id. */
  constructor(id: number) {
    this.id = id;
  }

  /** Whether any of the processes still runs. */
  get alive(): boolean {
    return this.#send(0);
  }

  /** Sends a signal to each process that still runs. */
  signal(name: Signal): void {
    this.#send(name);
  }

  /** Returns whether a signal reached any of the processes. */
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
