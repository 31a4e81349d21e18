import type { ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import process from "node:process";

/** The id that a {@linkcode FakeChild} has. */
export const ID = 4_711;

/** A process that a test has do what processes do. */
export class FakeChild extends EventEmitter {
  readonly pid = ID;
  /** What it was told on its standard input. */
  readonly told: string[] = [];
  readonly stdin = { on: () => {}, write: (text: string) => this.told.push(text) };

  /** Ends it, by itself or by a signal. */
  end(code: number | null, signal: string | null = null): void {
    this.emit("exit", code, signal);
  }

  /** Itself, for what takes only real ones. */
  get asChild(): ChildProcess {
    return this as unknown as ChildProcess;
  }
}

/** Stands in for this process, for as long as a test needs: signals are not sent, and only a test makes them come. */
export class FakeProcess implements Disposable {
  /** The signals that were sent, with the ids that they were sent to; a look whether it is alive is none. */
  readonly sent: [id: number, signal: string][] = [];
  /** The ids that mean a process, or a group of processes. */
  readonly alive = new Set<number>([ID, -ID]);
  /** The ids of processes that belong to another user. */
  readonly foreign = new Set<number>();
  readonly #listeners = new Map<string, () => void>();
  readonly #real = { kill: process.kill, on: process.on, off: process.off };

  constructor() {
    Object.assign(process, {
      kill: (id: number, signal: string | number) => {
        if (this.foreign.has(id)) throw Object.assign(new Error("not permitted"), { code: "EPERM" });
        if (!this.alive.has(id)) throw Object.assign(new Error("no such process"), { code: "ESRCH" });
        if (signal !== 0) this.sent.push([id, String(signal)]);
        return true;
      },
      on: (name: string, listener: () => void) => this.#listeners.set(name, listener),
      off: (name: string, listener: () => void) => {
        if (this.#listeners.get(name) === listener) this.#listeners.delete(name);
      },
    });
  }

  /** The names of the signals that somebody listens to. */
  get heard(): string[] {
    return [...this.#listeners.keys()].sort();
  }

  /** Has a signal come. */
  receive(name: string): void {
    this.#listeners.get(name)?.();
  }

  [Symbol.dispose](): void {
    Object.assign(process, this.#real);
  }
}
