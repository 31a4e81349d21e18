import { cpus } from "node:os";

/** Returns the part of the machine that others may keep busy while something is measured, from 0 to 1. */
const QUIET = 0.1;

/** How often it is looked before the machine is loaded: something is always over soon. */
const LOOKS = 3;

/** How long it is looked at the machine while nothing is measured, in milliseconds. */
const LOOK = 1_000;

/** Says that the machine has other things to do, so that nothing can be measured on it. */
export class LoadedError extends Error {
  constructor(busy: number) {
    const percent = (busy * 100).toFixed(0);
    super(
      `The machine is loaded: while nothing was measured, others kept ${percent} % of it busy. Figures that are taken now ` +
        `are worthless, and nothing is judged.\nWait until it is idle, or pass --force to measure all the same.`,
    );
  }
}

/** Looks whether others use the machine, while nothing is measured. */
export class Load {
  readonly #force: boolean;
  readonly #busy: () => Promise<number>;
  #loaded = false;

  /** With `force` a loaded machine is noted; otherwise looking throws. */
  constructor(force: boolean, busy: () => Promise<number> = busyPart) {
    this.#force = force;
    this.#busy = busy;
  }

  /** Whether the machine was loaded at any look. */
  get loaded(): boolean {
    return this.#loaded;
  }

  /** Looks; throws a {@linkcode LoadedError} when the machine is loaded, unless that is forced. */
  async look(): Promise<void> {
    let busy = Infinity;
    for (let looks = 0; looks < LOOKS; looks++) {
      busy = Math.min(busy, await this.#busy());
      if (busy <= QUIET) return;
    }
    if (!this.#force) throw new LoadedError(busy);
    this.#loaded = true;
  }
}

/** Returns the part of the machine that is busy while this process waits, from 0 to 1. */
export async function busyPart(ms: number = LOOK): Promise<number> {
  const [before, started] = [idle(), performance.now()];
  await new Promise((resolve) => setTimeout(resolve, ms));
  const [after, elapsed] = [idle(), performance.now() - started];
  return Math.max(0, 1 - (after - before) / (elapsed * cpus().length));
}

/** Returns how long all processors have been idle, in milliseconds. */
function idle(): number {
  return cpus().reduce((sum, { times }) => sum + times.idle, 0);
}
