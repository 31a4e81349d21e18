import type { Disturbances } from "../kernel/disturbances.ts";
import type { Drift, Machine } from "../kernel/machine.ts";
import type { Random } from "../kernel/random.ts";
import type { World } from "../kernel/world.ts";
import type { Rest, Scenario } from "./scenario.ts";
import type { DocumentServer } from "./server.ts";

/** What faults happen to. */
export interface Breakable {
  readonly world: World;
  readonly scenario: Scenario;
  readonly server: DocumentServer;
  readonly disturbances: Disturbances;
  /** All processes, those that have died among them. */
  readonly clients: readonly Machine[];
  /** Begins a process. */
  readonly begin: (name: string, drift: Drift) => void;
}

/** How long after the beginning of a rest nobody believes in a lock any more, in milliseconds. */
const OVER = 600_000;

/** By how much clocks are set, in milliseconds: while locks are held, and in a rest. */
const SET = [10, 30_000] as const;
const SET_AT_REST = [3_600_000, 43_200_000] as const;

/** When a process comes in the place of one that has died, in milliseconds. */
const RESTART = [50, 5_000] as const;

/** Sets clocks while nobody holds a lock: by hours, and forward as well; or by what they went wrong in days. */
export function setAtRest(
  { world, scenario: { sets, clock, faults }, disturbances, server, clients }: Breakable,
  { from, until }: Rest,
  random: Random,
): void {
  world.at(until, () => disturbances.note(world.now));
  if (faults && random.chance(0.5)) {
    // In the middle of a call, or while it holds a lock.
    const pause = { ms: until - from, suspended: sets === "none" && random.chance(0.5) };
    world.at(from - random.between(0, from / 4), () => {
      disturbances.note(until);
      random.pick(clients).pause(pause);
    });
  }
  world.at(from + OVER, () => {
    if (sets === "none" && clock) return;
    if (sets === "none") return clients.forEach((client) => setRight(client, until));
    const by = () => random.spread(...SET_AT_REST) * random.pick([-1, 1, 1]);
    if (sets === "server") server.machine.setWall(by());
    else for (const client of clients) client.setWall(by());
  });
}

/** Sets a clock right for a time: in days clocks drift further apart than they may be. */
export function setRight(machine: Machine, at: number): void {
  machine.setWall(at * (1 - machine.rate));
}

/** Lets one fault happen after the other, until their time is over. */
export class FaultSchedule {
  readonly #at: Breakable;
  readonly #random: Random;
  readonly #faults: readonly (() => void)[];

  constructor(at: Breakable, random: Random) {
    this.#at = at;
    this.#random = random;
    const { sets, faultGap } = at.scenario;
    const set = () => this.#set(...SET);
    const [pause, freeze, cut, kill, close, outpace] = [
      () => this.#pause(),
      () => this.#freeze(),
      () => this.#cut(),
      () => this.#kill(),
      () => this.#close(),
      () => at.server.outpace(this.#some(), this.#random.spread(100, 14_000)),
    ];
    const { closes, outpaced } = at.scenario;
    const more = [...sets === "none" ? [] : [set], ...closes ? [close] : [], ...outpaced ? [outpace] : []];
    this.#faults = [pause, pause, freeze, cut, cut, kill, ...more];
    if (faultGap < Infinity) this.#next();
  }

  #next(): void {
    const { world, scenario: { faultGap, length, rest } } = this.#at;
    const at = world.now + this.#random.spread(faultGap / 5, faultGap * 2);
    world.at(rest !== undefined && at > rest.from ? Math.max(at, rest.until) : at, () => {
      if (world.now >= length) return;
      this.#random.pick(this.#faults)();
      this.#next();
    });
  }

  #some(): Machine {
    return this.#random.pick(this.#at.clients);
  }

  #pause(): void {
    const { world, scenario, disturbances } = this.#at;
    const ms = this.#random.spread(2, 8_000);
    const machine = this.#some();
    disturbances.note(world.now + ms, machine);
    const suspended = scenario.sets === "none" && this.#random.chance(0.5);
    machine.pause({ ms, suspended, first: this.#random.pick([undefined, "timer", "message"] as const) });
  }

  #freeze(): void {
    const { world, server, disturbances } = this.#at;
    const ms = this.#random.spread(2, 4_000);
    disturbances.note(world.now + ms);
    server.machine.pause({ ms });
  }

  #set(least: number, most: number): void {
    const { world, scenario, server, disturbances } = this.#at;
    disturbances.note(world.now);
    const by = this.#random.spread(least, most) * this.#random.pick([-1, 1]);
    if (scenario.sets === "clients") this.#some().setWall(by);
    // Leases end early where the clock that decides is set forward: no promise is left then.
    else server.machine.setWall(-Math.abs(by));
  }

  #kill(): void {
    const { world, scenario, clients, begin, server } = this.#at;
    const alive = clients.filter((client) => !server.isGone(client)).length;
    if (!scenario.deaths || !this.#random.chance(0.4) || alive < 2) return;
    const victim = this.#some();
    if (victim.dead) return;
    victim.kill();
    if (this.#random.chance(0.5)) return;
    const place = clients.indexOf(victim) % scenario.clients.length;
    world.after(this.#random.spread(...RESTART), () => begin(`c${clients.length}`, scenario.clients[place]!));
  }

  /** Closes the connection of a process, unless it is the last one. */
  #close(): void {
    const { server, clients } = this.#at;
    const client = this.#some();
    if (clients.filter((each) => !server.isGone(each)).length > 1) server.close(client);
  }

  #cut(): void {
    this.#at.server.cut(this.#some(), this.#random.spread(2, 8_000));
  }
}
