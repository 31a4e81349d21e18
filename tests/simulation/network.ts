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
}

/** How long a message takes, in milliseconds: from the lower to the upper bound. */
const USUAL = [0.1, 2] as const;
/** The same for one that is held up: past the others, past time-outs, past whole leases. */
const HELD_UP = [2, 4_000] as const;

/** No message is older than this, in milliseconds. */
export const OLDEST = HELD_UP[1];

/** How long a client takes to notice that a connection is gone, in milliseconds. */
const NOTICED = [0.1, 300] as const;

/** How often a client that may hang does notice it. */
const NOTICES = 0.7;

/** Between clients and nodes: every message finds its own way, and may come late, twice, after later ones, or never. */
export class Network {
  readonly #world: World;
  readonly #random: Random;
  #quality: Quality;
  readonly #cut = new Map<string, number>();

  constructor(world: World, random: Random, quality: Quality) {
    this.#world = world;
    this.#random = random;
    this.#quality = quality;
  }

  /** Lets nothing through between two machines for a while. */
  cut(client: Machine, node: Machine, ms: number): void {
    this.#world.trace(client.name, `cut off from ${node.name} for ${ms.toFixed(0)} ms`);
    this.#cut.set(`${client.name} ${node.name}`, this.#world.now + ms);
  }

  /** Mends everything; what is on its way stays there. */
  mend(): void {
    this.#quality = { lost: 0, doubled: 0, delayed: 0, hangs: false };
    this.#cut.clear();
  }

  /** Sends a request and what comes of it back; rejects when the client notices that nothing will. */
  call<T>(client: Machine, node: Node, what: string, work: Work<T>): Promise<T> {
    this.#world.trace(client.name, `→ ${node.machine.name} ${what}`);
    return new Promise((resolve, reject) => {
      const fail = () => this.#fail(client, () => reject(new Error("connection lost")));
      if (!node.up) return fail();
      const reply = (value: T) => {
        if (this.#world.told) this.#world.trace(node.machine.name, `did ${client.name}'s ${what} = ${show(value)}`);
        this.#send(client, node.machine, fail, () => client.deliver(() => resolve(value)));
      };
      this.#send(client, node.machine, fail, () => node.receive(work, reply, fail));
    });
  }

  /** One message, perhaps twice, between a client and a node. */
  #send(client: Machine, node: Machine, lost: () => void, arrive: () => void): void {
    const cut = this.#cut.get(`${client.name} ${node.name}`) ?? 0;
    if (cut > this.#world.now || this.#random.chance(this.#quality.lost)) {
      this.#world.trace(client.name, `⇥ ${node.name} lost`);
      return lost();
    }
    const copies = this.#random.chance(this.#quality.doubled) ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) {
      const ms = this.#random.chance(this.#quality.delayed)
        ? this.#random.spread(...HELD_UP)
        : this.#random.between(...USUAL);
      this.#world.after(ms, arrive);
    }
  }

  #fail(client: Machine, reject: () => void): void {
    if (this.#quality.hangs && !this.#random.chance(NOTICES)) return;
    this.#world.after(this.#random.spread(...NOTICED), () => client.deliver(reject));
  }
}

function show(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  return Object.entries(value).map(([key, value]) => `${key} ${value}`).join(", ");
}
