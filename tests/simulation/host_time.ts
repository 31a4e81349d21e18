import type { Timer } from "../../src/time/clock.ts";
import type { Random } from "./random.ts";
import type { World } from "./world.ts";

/** A timer as the runtime gives it. */
interface HostTimer {
  readonly timer: Timer;
  unref(): void;
}

/**
 * Replaces the clocks, timers and random ids of the runtime by those of the machine whose process runs, until it is
 * disposed: code that reads them itself then lives in the simulated world, too.
 */
export class HostTime implements Disposable {
  readonly #restore: (() => void)[] = [];

  constructor(world: World, random: Random) {
    const machine = () => {
      if (world.machine === undefined) throw new Error("no machine runs");
      return world.machine;
    };
    this.#replace(performance, "now", () => machine().now().monotonic);
    this.#replace(Date, "now", () => Math.floor(machine().now().wall));
    this.#replace(globalThis, "setTimeout", (run: () => void, ms = 0): HostTimer => {
      return { timer: machine().timer(ms, run), unref: () => {} };
    });
    this.#replace(globalThis, "clearTimeout", (timer?: HostTimer) => timer?.timer.cancel());
    this.#replace(crypto, "randomUUID", () => {
      const digits = Array.from({ length: 32 }, () => random.integer(0, 15).toString(16)).join("");
      return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
    });
  }

  [Symbol.dispose](): void {
    for (const restore of this.#restore) restore();
  }

  #replace(object: object, key: string, value: unknown): void {
    const before = Object.getOwnPropertyDescriptor(object, key);
    Object.defineProperty(object, key, { value, configurable: true, writable: true, enumerable: true });
    this.#restore.push(() => {
      if (before === undefined) Reflect.deleteProperty(object, key);
      else Object.defineProperty(object, key, before);
    });
  }
}
