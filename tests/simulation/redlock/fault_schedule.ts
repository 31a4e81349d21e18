import type { Dealing } from "./dealings.ts";
import type { Machine } from "../kernel/machine.ts";
import { type Kind, KINDS } from "./network.ts";
import type { Node } from "./node.ts";
import type { Random } from "../kernel/random.ts";
import type { Run } from "./run.ts";
import { LONGEST_LAG } from "./scenario.ts";

/** How much longer than its longest lease a wiped node stays down, so that its slow clock does not matter. */
const RESERVE = 1.02;

/** How long a machine is stopped or away at the most, in milliseconds. */
const MAX_OUTAGE_MS = 4_000;

/** For how long the messages that restore a lost lock are delayed, in milliseconds: a renewal may come meanwhile. */
const RETAKE_LAG_MS = 300;

/** For how long a client tries to leave a queue, in milliseconds. */
const RELEASE_LIMIT_MS = 15_000;

/** The requests that count where a lock is handed on. */
const OF_RUNS: readonly Kind[] = ["attempt", "renew", "renew", "release"];

/** The faults of a run: one after the other, until their time is over. */
export class FaultSchedule {
  readonly #run: Run;
  readonly #random: Random;
  readonly #nodes: readonly Node[];
  readonly #clients: readonly Machine[];

  constructor(run: Run, random: Random, nodes: readonly Node[], clients: readonly Machine[]) {
    this.#run = run;
    this.#random = random;
    this.#nodes = nodes;
    this.#clients = clients;
    if (run.scenario.faults !== "none") this.#next();
  }

  #next(): void {
    this.#run.world.after(this.#random.spread(this.#run.scenario.faultGap / 5, this.#run.scenario.faultGap * 2), () => {
      if (this.#run.world.now >= this.#run.scenario.length) return;
      this.#random.pick(this.#faults)();
      this.#next();
    });
  }

  get #faults(): readonly (() => void)[] {
    const { clockSet, theme } = this.#run.scenario;
    if (theme === "restored locks" && this.#random.chance(0.9)) return [() => void this.#lose()];
    const restart = () => this.#restart();
    const freeze = () => this.#freeze();
    const pause = () => this.#pause(this.#duration(), this.#suspends());
    const stall = () => this.#pause(this.#random.spread(5, 500), false);
    const cut = () => this.#cut();
    const lag = () => this.#lag();
    const slow = () => this.#slow();
    const kill = () => {
      if (this.#run.scenario.deaths && this.#random.chance(0.3)) this.#random.pick(this.#clients).kill();
    };
    const set = clockSet === "none" ? [] : [() => this.#setClock()];
    const ambush = () => this.#ambush();
    const usual = [restart, restart, freeze, pause, pause, stall, cut, cut, cut, lag, lag, slow, kill];
    return [...usual, ambush, ambush, ambush, ...set];
  }

  #restart(): void {
    const { wipes, leases } = this.#run.scenario;
    const node = this.#random.pick(this.#nodes);
    const wiped = wipes !== "none" && this.#random.chance(0.5);
    const least = wiped && wipes === "late" ? leases[1] * RESERVE : 0;
    const ms = least + this.#duration();
    this.#run.disturbances.note(this.#run.world.now + ms);
    node.crash(ms, wiped);
  }

  /**
   * Lets a node lose the lock of a holder that has it on all of at least three, and on the others for longer: nobody
   * else can get a majority then.
   */
  async #lose(): Promise<void> {
    const name = this.#random.pick(this.#run.scenario.names);
    const dealings = await Promise.all(this.#nodes.map((node) => this.#dealingOn(node, name)));
    const holder = dealings[0]?.handle;
    if (holder === undefined || dealings.length < 3 || dealings.some((hold) => hold?.handle !== holder)) return;
    const place = dealings.reduce((first, hold, i) => hold!.until < dealings[first]!.until ? i : first, 0);
    const node = this.#nodes[place]!;
    node.lose(name);
    dealings[place]!.until = -Infinity;
    // The holder may release the lock while it is being restored.
    if (!this.#random.chance(0.3)) return;
    const ways = { client: holder.client, nodes: [node.machine], direction: "there" } as const;
    this.#run.network.lag(ways, ["retake"], this.#random.spread(5, 1_000), RETAKE_LAG_MS);
  }

  /** Returns the dealing of the sole holder of a lock on a node, unless it is being released there. */
  async #dealingOn(node: Node, name: string): Promise<Dealing | undefined> {
    if (!node.up) return undefined;
    const held = (await node.look()).held.filter((entry) => entry.name === name);
    const dealing = held.length === 1 ? this.#run.dealings.of(node, held[0]!.owner) : undefined;
    return dealing?.released ? undefined : dealing;
  }

  #freeze(): void {
    const ms = this.#duration();
    this.#run.disturbances.note(this.#run.world.now + ms);
    this.#random.pick(this.#nodes).machine.pause({ ms });
  }

  /** Stops a client: late timers and answers that lie unread then come in one order or the other. */
  #pause(ms: number, suspended: boolean, client = this.#random.pick(this.#clients)): void {
    this.#run.disturbances.note(this.#run.world.now + ms, client);
    client.pause({ ms, suspended, first: this.#random.pick([undefined, "timer", "message"] as const) });
  }

  /** Cuts a client off from some nodes, or from all, perhaps in one direction only. */
  #cut(client = this.#random.pick(this.#clients)): void {
    const direction = this.#random.pick([undefined, undefined, "there", "back"] as const);
    this.#run.network.cut({ client, nodes: this.#some(), direction }, this.#random.spread(2, 8_000));
  }

  /** Holds back messages of a client, perhaps of one kind, for longer than a node may take, or than a lease lasts. */
  #lag(): void {
    const client = this.#random.pick(this.#clients);
    const direction = this.#random.pick([undefined, "there", "back"] as const);
    const kinds = this.#random.pick([undefined, ...KINDS.map((kind) => [kind])]);
    const ms = this.#random.spread(5, LONGEST_LAG);
    this.#run.network.lag({ client, nodes: this.#some(), direction }, kinds, ms, this.#duration());
  }

  /** Slows a client down, hardly enough for time-outs, and then cuts it off from all nodes for longer than a lease. */
  #slow(): void {
    const { nodeTimeout = 50, leases } = this.#run.scenario;
    const client = this.#random.pick(this.#clients);
    const nodes = this.#nodes.map(({ machine }) => machine);
    const ms = this.#random.between(0.3, 0.95) * Math.min(nodeTimeout, leases[1], LONGEST_LAG);
    const lasting = this.#random.between(0.5, 2) * leases[1];
    const kinds = this.#random.pick([undefined, ["renew"], ["vote"]] as const);
    this.#run.network.lag({ client, nodes, direction: "back" }, kinds, ms, lasting);
    this.#run.world.after(lasting * this.#random.between(0.5, 1), () => {
      if (this.#run.world.now < this.#run.scenario.length) this.#run.network.cut({ client, nodes }, 1.5 * leases[1]);
    });
  }

  /** Waits for a request of a client, and injects a fault at that moment. */
  #ambush(): void {
    const client = this.#random.pick(this.#clients);
    const [shortest, longest] = this.#run.scenario.leases;
    const lasting = this.#random.between(0.4 * shortest, 1.2 * longest);
    const ms = this.#random.pick([this.#duration(), Math.min(lasting, MAX_OUTAGE_MS)]);
    const pause = () => this.#pause(ms, this.#suspends(), client);
    const cut = () => this.#cut(client);
    const kind = this.#random.pick(this.#run.scenario.theme === "runs" ? OF_RUNS : KINDS);
    const run = this.#random.pick([pause, pause, cut, () => this.#restart()]);
    this.#run.network.ambush({
      client,
      kind,
      done: this.#random.chance(0.5),
      run: () => {
        if (this.#run.world.now < this.#run.scenario.length) run();
      },
    });
  }

  #some(): Machine[] {
    const machines = this.#nodes.map(({ machine }) => machine);
    const one = this.#random.pick(machines);
    const share = this.#random.pick([0, 0.5, 1]);
    return machines.filter((machine) => machine === one || this.#random.chance(share));
  }

  #setClock(): void {
    const client = this.#run.scenario.clockSet === "clients" || this.#random.chance(0.6);
    const machine = client ? this.#random.pick(this.#clients) : this.#random.pick(this.#nodes).machine;
    const by = this.#random.spread(10, 30_000) * this.#random.pick([-1, 1]);
    this.#run.disturbances.note(this.#run.world.now, client ? machine : undefined);
    // By its clock it may have tried for long enough to release something.
    if (client) this.#run.handles.forgive(machine, this.#run.world.now - RELEASE_LIMIT_MS);
    // A node whose clock is set forward forgets its locks early.
    const set = client || this.#run.scenario.clockSet === "any" ? by : -Math.abs(by);
    if (!client && set < 0) this.#run.invariants.clockSetBack(-set);
    machine.setWall(set);
  }

  #suspends(): boolean {
    return this.#run.scenario.suspensions && this.#random.chance(0.5);
  }

  /** Shorter than a round trip, or longer than a lease, or between. */
  #duration(): number {
    return this.#random.spread(2, MAX_OUTAGE_MS);
  }
}
