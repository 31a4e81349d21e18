import type { Machine } from "./machine.ts";
import type { Network } from "./network.ts";
import type { Node } from "./node.ts";
import type { Random } from "./random.ts";
import type { Scenario } from "./scenario.ts";
import type { World } from "./world.ts";

/** How much longer than its longest lease a wiped node stays down, so that its slow clock does not matter. */
const RESERVE = 1.02;

/** What goes wrong, and when: one fault after the other until the storm is over. */
export class Storm {
  readonly #world: World;
  readonly #random: Random;
  readonly #scenario: Scenario;
  readonly #network: Network;
  readonly #nodes: readonly Node[];
  readonly #clients: readonly Machine[];

  constructor(
    world: World,
    random: Random,
    scenario: Scenario,
    { network, nodes, clients }: { network: Network; nodes: readonly Node[]; clients: readonly Machine[] },
  ) {
    this.#world = world;
    this.#random = random;
    this.#scenario = scenario;
    this.#network = network;
    this.#nodes = nodes;
    this.#clients = clients;
    if (scenario.weather !== "calm") this.#next();
  }

  #next(): void {
    this.#world.after(this.#random.spread(this.#scenario.lull / 5, this.#scenario.lull * 2), () => {
      if (this.#world.now >= this.#scenario.length) return;
      this.#random.pick(this.#faults)();
      this.#next();
    });
  }

  get #faults(): readonly (() => void)[] {
    const { clockSet } = this.#scenario;
    const restart = () => this.#restart();
    const freeze = () => this.#random.pick(this.#nodes).machine.pause(this.#duration(), false);
    const pause = () => this.#random.pick(this.#clients).pause(this.#duration(), this.#suspends());
    const cut = () => {
      this.#network.cut(this.#random.pick(this.#clients), this.#random.pick(this.#nodes).machine, this.#duration());
    };
    const kill = () => {
      if (this.#scenario.deaths && this.#random.chance(0.3)) this.#random.pick(this.#clients).kill();
    };
    return [restart, restart, freeze, pause, pause, cut, cut, kill, ...(clockSet ? [() => this.#setClock()] : [])];
  }

  #restart(): void {
    const { weather, wipes, leases } = this.#scenario;
    const node = this.#random.pick(this.#nodes);
    const wiped = wipes && this.#random.chance(0.5);
    const least = wiped && weather === "timed" ? leases[1] * RESERVE : 0;
    node.crash(least + this.#duration(), wiped);
  }

  #setClock(): void {
    const client = this.#random.chance(0.6);
    const machine = client ? this.#random.pick(this.#clients) : this.#random.pick(this.#nodes).machine;
    const by = this.#random.spread(10, 30_000) * this.#random.pick([-1, 1]);
    // A node whose clock is set forward forgets its locks early.
    machine.setWall(client || this.#scenario.weather === "wild" ? by : -Math.abs(by));
  }

  #suspends(): boolean {
    return this.#scenario.suspensions && this.#random.chance(0.5);
  }

  /** Shorter than a round trip, or longer than a lease, or between. */
  #duration(): number {
    return this.#random.spread(2, 4_000);
  }
}
