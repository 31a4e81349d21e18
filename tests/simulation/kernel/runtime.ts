import type { Timer } from "../../../src/time/clock.ts";
import type { Random } from "./random.ts";
import type { World } from "./world.ts";

/** A timer as the runtime gives it. */
interface HostTimer {
  readonly timer: Timer;
  unref(): void;
}

/** Functions of the runtime that are replaced until this is disposed. */
class Replaced implements Disposable {
  readonly #restore: (() => void)[] = [];

  replace(object: object, key: string, value: unknown): void {
    const before = Object.getOwnPropertyDescriptor(object, key);
    Object.defineProperty(object, key, { value, configurable: true, writable: true, enumerable: true });
    this.#restore.push(() => {
      if (before === undefined) Reflect.deleteProperty(object, key);
      else Object.defineProperty(object, key, before);
    });
  }

  [Symbol.dispose](): void {
    for (const restore of this.#restore) restore();
  }
}

/** Replaces the random ids of the runtime by numbers: the same in every run of a seed. */
export function numberedIds(): Disposable {
  const replaced = new Replaced();
  let last = 0;
  replaced.replace(crypto, "randomUUID", () => {
    return `${(++last).toString(16).padStart(8, "0")}-0000-4000-8000-000000000000`;
  });
  return replaced;
}

/**
 * Replaces the clocks, timers and random ids of the runtime by those of the machine whose process runs: code that reads
 * them itself then lives in the simulated world, too.
 */
export function hostTime(world: World, random: Random): Disposable {
  const replaced = new Replaced();
  const machine = () => {
    if (world.machine === undefined) throw new Error("no machine runs");
    return world.machine;
  };
  replaced.replace(performance, "now", () => machine().now().monotonic);
  replaced.replace(Date, "now", () => Math.floor(machine().now().wall));
  replaced.replace(globalThis, "setTimeout", (run: () => void, ms = 0): HostTimer => {
    return { timer: machine().timer(ms, run), unref: () => {} };
  });
  replaced.replace(globalThis, "clearTimeout", (timer?: HostTimer) => timer?.timer.cancel());
  replaced.replace(crypto, "randomUUID", () => {
    const digits = Array.from({ length: 32 }, () => random.integer(0, 15).toString(16)).join("");
    return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  });
  return replaced;
}
