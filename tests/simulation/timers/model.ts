import { Machine } from "../kernel/machine.ts";
import { Random } from "../kernel/random.ts";
import type { RunOutcome } from "../kernel/runs.ts";
import { World } from "../kernel/world.ts";
import { LEASE, type Pace, Process, RULES, type Rules } from "./process.ts";
import { type Faults, type Kind, TimerServer, WRONG } from "./server.ts";

/** When a dead holder's lock must be granted to somebody, in milliseconds: after 1.5 leases and 2 s. */
const SUCCEEDED_MS = 1.5 * LEASE + 2_000;

/** For how long a caller waits, in milliseconds: less than the lease. */
const WAIT_MS = LEASE / 3;

/** How long a run is, and for how long a process holds the lock, thinks and is stopped, in milliseconds. */
const LENGTH_MS = 60_000;
const HOLDS = [100, 12_000] as const;
const THINKS = [50, 1_500] as const;
const PAUSES = [20, 9_000] as const;
const PAUSE_GAP = [2_000, 15_000] as const;

/** How often a process dies, and how far its wall clock is from true time, and is set, in milliseconds. */
const DIES = 0.2;
const SKEW_MS = 60_000;
const SET_MS = 5_000;

const NONE: Faults = { network: false, leaders: false, slowStarts: false };

/** One run of the protocol. */
class Run {
  readonly violations: string[] = [];
  readonly world: World;
  granted = 0;
  readonly #random: Random;
  readonly #rules: Rules;
  readonly #server: TimerServer;
  readonly #processes: Process[] = [];

  constructor(seed: number, kind: Kind, rules: Rules, faults: Faults, log?: (line: string) => void) {
    this.world = new World(log);
    this.#random = new Random(seed);
    this.#rules = rules;
    this.#server = new TimerServer(this.world, this.#random.fork(), kind, faults);
  }

  /** Lets processes that live for long and new ones with short waits want the lock, and be stopped, and die. */
  async storm(): Promise<void> {
    for (let i = 0; i < 2; i++) this.#reside();
    const visit = () => {
      if (this.world.now > LENGTH_MS) return;
      const process = this.#begin();
      void process.acquire(WAIT_MS).then((granted) => granted && process.hold(this.#random.spread(50, 900)));
      this.world.after(this.#random.spread(300, 1_500), visit);
    };
    visit();
    await this.world.run(() => this.violations.length > 0, LENGTH_MS + 30_000);
  }

  /** Kills the holder; from then on only processes with short waits want the lock. */
  async kill(): Promise<void> {
    const holder = this.#begin();
    void holder.acquire(Infinity).then(() => holder.hold(Infinity));
    const killedAt = this.#random.between(100, 8_000);
    let isFree = false;
    const visit = async () => {
      const process = this.#begin();
      isFree ||= await process.acquire(WAIT_MS);
      if (!isFree) this.world.after(this.#random.spread(10, 500), visit);
    };
    this.world.at(killedAt, () => {
      holder.machine.kill();
      void visit();
    });
    await this.world.run(() => isFree || this.violations.length > 0, killedAt + SUCCEEDED_MS);
    if (!isFree) this.#violate("nobody is granted the lock of a dead holder");
  }

  /** Lets one process hold the lock while timers start slowly. */
  async keep(): Promise<void> {
    const holder = this.#begin();
    let isOver = false;
    void holder.acquire(Infinity).then(() => holder.hold(LENGTH_MS / 2)).then((held) => {
      isOver = true;
      if (!held) this.#violate("a live holder loses the lock");
    });
    await this.world.run(() => isOver, LENGTH_MS);
  }

  /**
   * Lets a caller look at the moment at which a timer ends that has hardly lasted for the lease of its holder, which is
   * stopped after the renewal, by clocks that are as wrong as they may be.
   */
  async graze(): Promise<void> {
    const interval = LEASE / 2 - this.#random.between(0, 10);
    const holder = this.#begin({ interval }, -WRONG);
    void holder.acquire(Infinity).then(() => holder.hold(Infinity));
    this.world.at(2 * interval + 100, () => holder.machine.pause({ ms: 2 * LEASE }));
    this.world.at(2 * interval + 0.97 * LEASE, () => void this.#begin({ pause: 1 }).acquire(WAIT_MS));
    await this.world.run(() => this.violations.length > 0, 4 * LEASE);
  }

  #violate(what: string): void {
    this.world.trace("!", what);
    this.violations.push(what);
  }

  #begin(pace?: Pace, wrong?: number): Process {
    const random = this.#random.fork();
    const rate = 1 + (wrong ?? random.between(-WRONG, WRONG)) / 1_000;
    const drift = { rate, skew: random.between(-SKEW_MS, SKEW_MS), step: 1 };
    const machine = new Machine(this.world, `p${this.#processes.length}`, drift);
    const process = new Process(machine, this.#server, random, this.#rules, (process) => {
      this.granted++;
      this.world.trace(machine.name, "is granted the lock");
      for (const other of this.#processes) {
        if (other !== process && other.holds) this.#violate("two hold the lock");
      }
    }, pace);
    this.#processes.push(process);
    return process;
  }

  #reside(): void {
    const process = this.#begin();
    const { machine } = process;
    const random = this.#random.fork();
    const work = async () => {
      while (this.world.now < LENGTH_MS) {
        if (await process.acquire(3 * LEASE)) {
          if (random.chance(DIES)) this.#dies(process, random);
          await process.hold(random.spread(...HOLDS));
        }
        await machine.sleep(random.spread(...THINKS));
      }
    };
    void work();
    // Its clocks stop with the machine, or are set; not both.
    const sets = random.chance(0.5);
    const disturb = () => {
      this.world.after(random.spread(...PAUSE_GAP), () => {
        if (machine.dead || this.world.now > LENGTH_MS) return;
        if (sets && random.chance(0.5)) machine.setWall(random.between(-SET_MS, SET_MS));
        else machine.pause({ ms: random.spread(...PAUSES), suspended: !sets && random.chance(0.5) });
        disturb();
      });
    };
    disturb();
  }

  #dies({ machine }: Process, random: Random): void {
    this.world.after(random.spread(10, 4_000), () => {
      if (machine.dead) return;
      machine.kill();
      this.world.after(random.spread(500, 3_000), () => this.#reside());
    });
  }
}

/**
 * Runs the protocol with what a seed determines: a storm, a killed holder, a holder while timers start slowly, and one
 * whose timer hardly lasts.
 */
export async function run(seed: number, kind: Kind, rules: Rules, log?: (line: string) => void): Promise<RunOutcome> {
  const leaders = seed % 2 === 0;
  const storm = new Run(seed, kind, rules, { network: true, leaders, slowStarts: false }, log);
  await storm.storm();
  const killed = new Run(seed, kind, rules, NONE, log);
  await killed.kill();
  const kept = new Run(seed, kind, rules, { ...NONE, slowStarts: true }, log);
  await kept.keep();
  const grazed = new Run(seed, kind, rules, { ...NONE, wrong: WRONG }, log);
  await grazed.graze();
  const all = [storm, killed, kept, grazed];
  return { violations: all.flatMap(({ violations }) => violations), granted: storm.granted };
}

/** Runs it with timers of both kinds. */
export async function play(seed: number, log?: (line: string) => void): Promise<RunOutcome> {
  const [keys, stamps] = [await run(seed, "keys", RULES, log), await run(seed, "stamps", RULES, log)];
  return { violations: [...keys.violations, ...stamps.violations], granted: keys.granted + stamps.granted };
}
