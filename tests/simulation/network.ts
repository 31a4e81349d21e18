import { Connection, NOTICED } from "./connection.ts";
import type { Machine } from "./machine.ts";
import type { Node, Work } from "./node.ts";
import type { Random } from "./random.ts";
import type { World } from "./world.ts";

/** How bad a network is: probabilities, for each message. */
export interface Quality {
  readonly lost: number;
  readonly doubled: number;
  readonly delayed: number;
  /** Whether a call whose connection is gone may hang for ever, instead of failing. */
  readonly hangs: boolean;
  /** Whether there are connections, which keep messages in order, and each of which once, until they break. */
  readonly connected: boolean;
}

/** How long a message takes, in milliseconds: from the lower to the upper bound. */
const USUAL = [0.1, 2] as const;
/** The same for one that is held up: past the others, past time-outs, past whole leases. */
const HELD_UP = [2, 4_000] as const;

/** No message is older than this, in milliseconds. */
export const OLDEST = HELD_UP[1];

/** How often a client that may hang does notice it. */
const NOTICES = 0.7;

/**
 * Between clients and nodes: every message finds its own way, and may come late, twice, after later ones, or never; or
 * all those between two machines share a connection.
 */
export class Network {
  readonly #world: World;
  readonly #random: Random;
  #quality: Quality;
  readonly #cut = new Map<string, number>();
  readonly #connections = new Map<string, Connection>();

  constructor(world: World, random: Random, quality: Quality) {
    this.#world = world;
    this.#random = random;
    this.#quality = quality;
  }

  /** Lets nothing through between two machines for a while. */
  cut(client: Machine, node: Machine, ms: number): void {
    this.#world.trace(client.name, `cut off from ${node.name} for ${ms.toFixed(0)} ms`);
    this.#cut.set(link(client, node), this.#world.now + ms);
    this.#connections.get(link(client, node))?.break();
  }

  /** How often the client has noticed that its connection was cut; without connections nobody knows. */
  session(client: Machine, node: Node): number | undefined {
    return this.#quality.connected ? this.#connection(client, node).session : undefined;
  }

  /** Mends everything; what is on its way stays there. */
  mend(): void {
    this.#quality = { ...this.#quality, lost: 0, doubled: 0, delayed: 0, hangs: false };
    this.#cut.clear();
  }

  /** Sends a request and what comes of it back; rejects when the client notices that nothing will. */
  call<T>(client: Machine, node: Node, what: string, work: Work<T>): Promise<T> {
    this.#world.trace(client.name, `→ ${node.machine.name} ${what}`);
    const told: Work<T> = this.#world.told ? (store, down) => this.#tell(client, node, what, work(store, down)) : work;
    if (this.#quality.connected) return this.#connection(client, node).call(told);
    return new Promise((resolve, reject) => {
      const fail = () => this.#fail(client, () => reject(new Error("connection lost")));
      if (!node.up) return fail();
      const reply = (value: T) => this.#send(client, node.machine, fail, () => client.deliver(() => resolve(value)));
      this.#send(client, node.machine, fail, () => node.receive(told, reply, fail));
    });
  }

  async #tell<T>(client: Machine, node: Node, what: string, done: Promise<T>): Promise<T> {
    const value = await done;
    this.#world.trace(node.machine.name, `did ${client.name}'s ${what} = ${show(value)}`);
    return value;
  }

  #connection(client: Machine, node: Node): Connection {
    const between = link(client, node.machine);
    const known = this.#connections.get(between) ?? new Connection(this.#world, this.#random, client, node, {
      delay: () => this.#random.chance(this.#quality.lost) ? undefined : this.#delay(),
      open: () => !this.#isCut(client, node.machine),
    });
    this.#connections.set(between, known);
    return known;
  }

  #isCut(client: Machine, node: Machine): boolean {
    return (this.#cut.get(link(client, node)) ?? 0) > this.#world.now;
  }

  #delay(): number {
    return this.#random.chance(this.#quality.delayed)
      ? this.#random.spread(...HELD_UP)
      : this.#random.between(...USUAL);
  }

  /** One message, perhaps twice, between a client and a node. */
  #send(client: Machine, node: Machine, lost: () => void, arrive: () => void): void {
    if (this.#isCut(client, node) || this.#random.chance(this.#quality.lost)) {
      this.#world.trace(client.name, `⇥ ${node.name} lost`);
      return lost();
    }
    const copies = this.#random.chance(this.#quality.doubled) ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) this.#world.after(this.#delay(), arrive);
  }

  #fail(client: Machine, reject: () => void): void {
    if (this.#quality.hangs && !this.#random.chance(NOTICES)) return;
    this.#world.after(this.#random.spread(...NOTICED), () => client.deliver(reject));
  }
}

function link(client: Machine, node: Machine): string {
  return `${client.name} ${node.name}`;
}

function show(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  return Object.entries(value).map(([key, value]) => `${key} ${value}`).join(", ");
}
