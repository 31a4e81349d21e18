import type { ServerTimers } from "../../src/engine/mod.ts";
import type { Clock } from "../../src/time/clock.ts";

/** A server that runs timers, by its own clock. */
export class TimerServer {
  /** When each ends. */
  readonly ends = new Map<string, number>();
  readonly #clock: Clock;
  #count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(ms: number): string {
    const name = `t${++this.#count}`;
    this.ends.set(name, this.#clock.now().monotonic + ms);
    return name;
  }

  isOver(name: string): boolean {
    return this.#clock.now().monotonic >= (this.ends.get(name) ?? 0);
  }
}

/**
 * The timers of a server in memory, for one process. It counts the requests, and lets a test decide what becomes of
 * them.
 */
export class ControlledTimers implements ServerTimers {
  starts = 0;
  asks = 0;
  /** How many starts are neither answered nor given up. */
  open = 0;
  onStart: (execute: () => Promise<string>) => Promise<string> = (execute) => execute();
  onAsk: (execute: () => Promise<(boolean | undefined)[]>) => Promise<(boolean | undefined)[]> = (execute) => execute();
  readonly #server: TimerServer;

  constructor(server: TimerServer) {
    this.#server = server;
  }

  async start(ms: number, signal: AbortSignal): Promise<string> {
    this.starts++;
    this.open++;
    const given = Promise.withResolvers<never>();
    signal.addEventListener("abort", () => given.reject(new Error("given up")));
    try {
      return await Promise.race([this.onStart(() => Promise.resolve(this.#server.start(ms))), given.promise]);
    } finally {
      this.open--;
    }
  }

  areOver(names: readonly string[]): Promise<readonly (boolean | undefined)[]> {
    this.asks++;
    return this.onAsk(() => Promise.resolve(names.map((name) => this.#server.isOver(name))));
  }

  /** How many requests there were since the last call of this. */
  trips(): { readonly starts: number; readonly asks: number } {
    const { starts, asks } = this;
    this.starts = this.asks = 0;
    return { starts, asks };
  }
}
