import type { CohortOptions } from "@holdfast/lock/cohort";
import type { Redis } from "ioredis";
import { Fixture, type WorkerProcess } from "../tests/faults/workers.ts";
import type { Figure } from "./figure.ts";
import { idlePing } from "./idle_ping.ts";
import type { Bench } from "./row.ts";
import { median, summarize } from "./statistics.ts";

const PROCESSES = 4;
const TASKS = 32;
const KEEP = 10;

/** How many sections each task goes through in a round, and how many rounds of each side there are. */
const SECTIONS = 40;
const ROUNDS = 8;

const PINGS = 30;

/**
 * What the longest wait may be longer than in strict order, besides what the cohorts ahead may take, in milliseconds.
 */
const MARGIN_MS = 20;

/** A round: the longest wait of the lone process, and how long a section took with its handoff, in milliseconds. */
interface Round {
  readonly longest: number;
  readonly section: number;
}

/**
 * The longest wait of a process with one task while 32 tasks of each of four others want the same name all the time: in
 * strict order, and with a cohort in each of the four.
 */
export async function lone({ scale, stack, progress }: Bench): Promise<Figure[]> {
  const sides = [await Side.open(undefined, stack), await Side.open({ keep: KEEP }, stack)] as const;
  const [strict, cohorts]: [Round[], Round[]] = [[], []];
  for (let round = 0; round < Math.ceil(ROUNDS * scale); round++) {
    progress(`a lone process beside ${PROCESSES} × ${TASKS} tasks, round ${round + 1}`);
    strict.push(await sides[0].round());
    cohorts.push(await sides[1].round());
  }
  const { client } = sides[1];
  const pings: number[] = [];
  while (pings.length < PINGS) pings.push(await idlePing(client));
  const waits = (rounds: readonly Round[]) => rounds.map(({ longest }) => longest);
  const one = KEEP + median(cohorts.map(({ section }) => section)) + median(pings);
  const allowed = median(waits(strict)) + PROCESSES * one + MARGIN_MS;
  const longest = median(waits(cohorts));
  return [{
    what: `longest wait of a lone process beside ${PROCESSES} × ${TASKS} tasks, keep ${KEEP}`,
    ours: { value: longest, unit: "ms" },
    reference: { name: "strict + 4 turns", value: allowed, unit: "ms" },
    ratio: longest / allowed,
    target: { bound: "at most", value: 1 },
    details: { strict: summarize(waits(strict)), cohorts: summarize(waits(cohorts)), turn: one },
  }];
}

/** Four processes with many tasks, and one with a single task. */
class Side {
  readonly #fixture: Fixture;
  readonly #crowd: readonly WorkerProcess[];
  readonly #alone: WorkerProcess;

  private constructor(fixture: Fixture, crowd: readonly WorkerProcess[], alone: WorkerProcess) {
    this.#fixture = fixture;
    this.#crowd = crowd;
    this.#alone = alone;
  }

  static async open(options: CohortOptions | undefined, stack: AsyncDisposableStack): Promise<Side> {
    const fixture = stack.use(await Fixture.open("redis"));
    await Deno.writeTextFile(`${fixture.directory}/counter`, "0");
    return new Side(fixture, await fixture.workers(PROCESSES, options), await fixture.worker());
  }

  /** A client of the server. */
  get client(): Redis {
    return this.#fixture.server.connect();
  }

  /** Has all of them want the lock, and the lone one until the first task of the others has finished. */
  async round(): Promise<Round> {
    const sections = { do: "sections", name: "a", count: SECTIONS, directory: this.#fixture.directory } as const;
    const began = performance.now();
    for (let task = 0; task < TASKS; task++) {
      await Promise.all(this.#crowd.map((process) => process.send(sections)));
    }
    let finished = 0;
    const all = this.#crowd.map(async (process) => {
      for (let task = 0; task < TASKS; task++) {
        await process.next("sections");
        finished++;
      }
    });
    let longest = 0;
    while (finished === 0) {
      const since = performance.now();
      await this.#alone.send({ do: "acquire", name: "a" });
      await this.#alone.next("granted");
      // Once the first has finished, fewer of them compete.
      if (finished === 0) longest = Math.max(longest, performance.now() - since);
      await this.#alone.send({ do: "release", name: "a" });
      await this.#alone.next("released");
    }
    await Promise.all(all);
    return { longest, section: (performance.now() - began) / (PROCESSES * TASKS * SECTIONS) };
  }
}
