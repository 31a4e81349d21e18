import { changesOf } from "./changes.ts";
import { applied, type Mutant } from "./mutant.ts";
import type { Result, Results } from "./results.ts";
import { type Stage, type Target, targetOf } from "./targets.ts";
import type { Workshop } from "./workshop.ts";

/** How long tests may take with a mutant: so many times as long as without one, and so many milliseconds more. */
const SLOWNESS = { times: 4, plus: 20_000 } as const;

/** How long tests may take without one, in milliseconds. */
const BASELINE_LIMIT = 300_000;

/** Tries mutants in workshops of its own. */
export class Campaign {
  readonly #workshops: readonly Workshop[];
  readonly #files: readonly string[];
  readonly #log: (line: string) => void;
  /** How long tests that pass without a mutant may take with one, in milliseconds. */
  readonly #limits = new Map<Stage, number>();
  #stopped = false;

  /** `files` are the paths of all tests. */
  constructor(workshops: readonly Workshop[], files: readonly string[], log: (line: string) => void) {
    this.#workshops = workshops;
    this.#files = files;
    this.#log = log;
  }

  /** Begins no more trials. */
  stop(): void {
    this.#stopped = true;
  }

  /**
   * Runs the tests of the targets without a mutant: those that fail say nothing about one. Throws when there are none
   * to run, or none that pass.
   */
  async prepare(targets: Iterable<Target>): Promise<void> {
    const all = [...targets];
    const stages = new Set(all.flatMap(({ stages }) => stages));
    await this.each([...stages].filter((stage) => !this.#limits.has(stage)), async (stage, workshop) => {
      let started = performance.now();
      let ending = await workshop.run(stage, this.#files, BASELINE_LIMIT);
      if (ending === "failed" && !this.#stopped) {
        // Once more: on a busy machine a test on real servers may fail by itself.
        started = performance.now();
        ending = await workshop.run(stage, this.#files, BASELINE_LIMIT);
      }
      if (this.#stopped) return;
      if (ending === "empty") throw new Error(`there is no test in ${describe(stage)}`);
      if (ending === "passed") {
        this.#limits.set(stage, (performance.now() - started) * SLOWNESS.times + SLOWNESS.plus);
      } else this.#log(`not used, as they fail without a mutant: ${describe(stage)}`);
    });
    const untested = all.find(({ stages }) => !stages.some((stage) => this.#limits.has(stage)));
    if (untested !== undefined && !this.#stopped) throw new Error(`no tests of ${untested.name} pass without a mutant`);
  }

  /** Tries each mutant that was not tried before. */
  async run(mutants: readonly Mutant[], results: Results): Promise<void> {
    const left = mutants.filter(({ key }) => results.get(key) === undefined);
    await this.prepare(left.map(({ path }) => targetOf(path)!));
    let done = mutants.length - left.length;
    await this.each(left, async (mutant, workshop) => {
      const { key, path, line, operator } = mutant;
      const changes = await changesOf(path, applied(await workshop.read(path), mutant));
      const outcome = await workshop.with(changes, () => this.attempt(targetOf(path)!, workshop));
      if (this.#stopped) return;
      const result: Result = { key, target: targetOf(path)!.name, path, line, operator, outcome };
      await results.add(result);
      done++;
      const note = outcome === "survived" ? `survived, line ${line}: ${key}` : "";
      this.#log(`${done} of ${mutants.length} ${note}`.trim());
    });
  }

  /** Runs the tests of a target in a workshop that was changed. */
  async attempt(target: Target, workshop: Workshop): Promise<Result["outcome"]> {
    for (const stage of target.stages) {
      const limit = this.#limits.get(stage);
      if (limit === undefined) continue;
      const ending = await workshop.run(stage, this.#files, limit);
      if (ending === "failed") return "killed";
      if (ending === "late") return "late";
    }
    return "survived";
  }

  /** Does something with each item, in each workshop one at a time. */
  async each<T>(items: readonly T[], run: (item: T, workshop: Workshop) => Promise<void>): Promise<void> {
    const queue = items.values();
    await Promise.all(this.#workshops.map(async (workshop) => {
      for (const item of queue) {
        if (this.#stopped) return;
        await run(item, workshop);
      }
    }));
  }
}

function describe(stage: Stage): string {
  return "seeds" in stage ? `${stage.seeds} seeds of the simulator` : `${stage.tests} ${stage.filter ?? ""}`.trim();
}
