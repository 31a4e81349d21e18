import { LATE, within } from "../../../src/contract/release.ts";
import { delayed, NOTICED, type Quality as MessageQuality, USUAL } from "../kernel/messages.ts";
import { Connection } from "./connection.ts";
import type { Disturbances } from "../kernel/disturbances.ts";
import type { Machine } from "../kernel/machine.ts";
import type { Kept, Node, Work } from "./node.ts";
import type { Random } from "../kernel/random.ts";
import type { World } from "../kernel/world.ts";

/** How bad a network with connections is. */
export interface Quality extends MessageQuality {
  /** Of the requests that are on their way when their connection breaks: how many are done even so. */
  readonly lingering: number;
  /** Whether a call whose connection is gone may hang for ever, instead of failing. */
  readonly hangs: boolean;
  /** Whether there are connections, which keep messages in order, and each of which once, until they break. */
  readonly connected: boolean;
  /** After how many milliseconds a client rejects a call that may still be executed; `undefined`: never. */
  readonly commandTimeout: number | undefined;
}

/** What a client asks a server for. */
export interface Request<T, K extends Kept> {
  readonly kind: Kind;
  /** What is asked, for the log. */
  readonly what: string;
  readonly work: Work<T, K>;
  /** Called when the server does it for the second time, or a later one. */
  readonly repeated?: () => void;
  /** Called when the client rejects it in time, and when the server does it after that. */
  readonly overdue?: () => void;
}

/** The kinds of requests. */
export type Kind = typeof KINDS[number];

/** All kinds of requests. */
export const KINDS = [
  "attempt",
  "vote",
  "confirm",
  "inspect",
  "retake",
  "renew",
  "release",
  "subscribe",
  "wakeup",
  "other",
] as const;

/** The way of a message: to the server, or back to the client. */
export type Direction = "there" | "back";

/** A client, and some of the nodes. */
export interface Ways {
  readonly client: Machine;
  readonly nodes: readonly Machine[];
  /** In which direction; both when left out. */
  readonly direction?: Direction | undefined;
}

interface Lag extends Ways {
  /** The requests whose messages, or whose answers, are held back; all when left out. */
  readonly kinds: readonly Kind[] | undefined;
  readonly ms: number;
  readonly until: number;
}

interface Ambush {
  readonly client: Machine;
  readonly kind: Kind;
  /**
   * Whether it waits for what a server has done: of attempts and votes for a grant, whose answer is then on its way.
   */
  readonly done: boolean;
  readonly run: () => void;
}

interface Cut extends Ways {
  readonly until: number;
}

/** How often a client that may hang does notice it. */
const NOTICES = 0.7;

/**
 * Between clients and nodes: every message finds its own way, and may come late, twice, after later ones, or never; or
 * all those between two machines share a connection.
 */
export class Network {
  readonly #world: World;
  readonly #random: Random;
  readonly #disturbances: Disturbances;
  #quality: Quality;
  #cuts: Cut[] = [];
  #lags: Lag[] = [];
  #ambushes: Ambush[] = [];
  readonly #connections = new Map<string, Connection<Kept>>();

  constructor(world: World, random: Random, quality: Quality, disturbances: Disturbances) {
    this.#world = world;
    this.#random = random;
    this.#quality = quality;
    this.#disturbances = disturbances;
  }

  /** Lets nothing through between a client and some nodes for a while. */
  cut(ways: Ways, ms: number): void {
    const { client, nodes, direction } = ways;
    const way = direction === undefined ? "" : `, messages ${direction}`;
    this.#world.trace(client.name, `cut off from ${names(nodes)} for ${ms.toFixed(0)} ms${way}`);
    this.#disturb(client, ms + NOTICED[1]);
    const now = this.#world.now;
    this.#cuts = this.#cuts.filter(({ until }) => until > now);
    this.#cuts.push({ ...ways, until: now + ms });
    if (direction !== undefined) return;
    for (const node of nodes) this.#connections.get(link(client, node))?.break();
  }

  /** Holds back the messages of some kinds between a client and some nodes for `ms` milliseconds, for a while. */
  lag(ways: Ways, kinds: readonly Kind[] | undefined, ms: number, forMs: number): void {
    const { client, nodes, direction = "there and back" } = ways;
    const what = kinds === undefined ? "messages" : kinds.join(", ");
    const text = `${what} ${direction} take ${ms.toFixed(0)} ms longer for ${forMs.toFixed(0)} ms`;
    this.#world.trace(client.name, `${text}, to ${names(nodes)}`);
    if (!this.#isMinor(kinds)) this.#disturb(client, ms + forMs);
    const now = this.#world.now;
    this.#lags = this.#lags.filter(({ until }) => until > now);
    this.#lags.push({ ...ways, kinds, ms, until: now + forMs });
  }

  /** Has something run as soon as a client has sent its next request of a kind, or when a server has done one. */
  ambush(ambush: Ambush): void {
    this.#ambushes.push(ambush);
  }

  /** Returns how often the client has noticed that its connection was cut; `undefined` without connections. */
  session(client: Machine, node: Node): number | undefined {
    return this.#quality.connected ? this.#connection(client, node).session : undefined;
  }

  /** Has something run each time that a client notices that its connection to a node is gone. */
  onBreak(client: Machine, node: Node, run: () => void): void {
    this.#connection(client, node).onBreak(run);
  }

  /** Sends a message of a node to a client over another connection than that of its requests; it may get lost. */
  push(client: Machine, node: Node, arrive: () => void, lost: () => void): void {
    const message = { client, node: node.machine, direction: "back", kind: "wakeup" } as const;
    if (this.#isCut(message) || this.#random.chance(this.#quality.lost)) return lost();
    this.#world.after(this.#delay(message), () => client.deliver(arrive));
  }

  /** Returns whether a client could connect to a node at this moment. */
  open(client: Machine, node: Node): boolean {
    return node.up && (["there", "back"] as const).every((direction) => {
      return !this.#isCut({ client, node: node.machine, direction, kind: "other" });
    });
  }

  /** Ends every fault; what is on its way stays there. */
  restore(): void {
    this.#quality = { ...this.#quality, lost: 0, doubled: 0, delayed: 0, lingering: 0, hangs: false };
    this.#cuts = [];
    this.#lags = [];
    this.#ambushes = [];
  }

  /** Sends a request and what comes of it back; rejects when the client notices that nothing will. */
  call<T, K extends Kept>(
    client: Machine,
    node: Node<K>,
    request: Request<T, K>,
  ): Promise<T> {
    const { commandTimeout } = this.#quality;
    if (commandTimeout === undefined || request.kind === "wakeup") return this.#call(client, node, request);
    let late = false;
    const work: Work<T, K> = (kept, down) => {
      if (late) request.overdue?.();
      return request.work(kept, down);
    };
    return within(commandTimeout, this.#call(client, node, { ...request, work }), client).catch((error) => {
      late = error === LATE;
      if (late) request.overdue?.();
      throw late ? new Error("Command timed out") : error;
    });
  }

  #call<T, K extends Kept>(
    client: Machine,
    node: Node<K>,
    { kind, what, work, repeated }: Request<T, K>,
  ): Promise<T> {
    this.#world.trace(client.name, `→ ${node.machine.name} ${what}`);
    this.#spring(client, kind, false);
    let times = 0;
    const done: Work<T, K> = async (kept, down) => {
      if (++times > 1) repeated?.();
      const value = await (this.#world.logs ? this.#logged(client, node, what, work(kept, down)) : work(kept, down));
      if (isGrant(kind, value)) this.#spring(client, kind, true);
      return value;
    };
    if (this.#quality.connected) return this.#connection(client, node).call(done, kind);
    return new Promise((resolve, reject) => {
      const fail = () => this.#fail(client, () => reject(new Error("connection lost")));
      if (!node.up) return fail();
      const back = { client, node: node.machine, kind, direction: "back" } as const;
      const reply = (value: T) => this.#send(back, fail, () => client.deliver(() => resolve(value)));
      this.#send({ ...back, direction: "there" }, fail, () => node.receive(done, reply, fail));
    });
  }

  #spring(client: Machine, kind: Kind, done: boolean): void {
    const sprung = this.#ambushes.filter((ambush) => {
      return ambush.client === client && ambush.kind === kind && ambush.done === done;
    });
    if (sprung.length === 0) return;
    this.#ambushes = this.#ambushes.filter((ambush) => !sprung.includes(ambush));
    for (const { run } of sprung) this.#world.after(0, run);
  }

  async #logged<T>(client: Machine, node: Node, what: string, done: Promise<T>): Promise<T> {
    const value = await done;
    this.#world.trace(node.machine.name, `did ${client.name}'s ${what} = ${show(value)}`);
    return value;
  }

  #connection<K extends Kept>(client: Machine, node: Node<K>): Connection<K> {
    const between = link(client, node.machine);
    // Between these two there is no other one.
    const known = this.#connections.get(between) as unknown as Connection<K> ?? this.#connect(client, node);
    this.#connections.set(between, known as unknown as Connection<Kept>);
    return known;
  }

  #connect<K extends Kept>(client: Machine, node: Node<K>): Connection<K> {
    return new Connection(this.#world, this.#random, client, node, {
      delay: (direction, kind) => {
        const message = { client, node: node.machine, direction, kind };
        return this.#random.chance(this.#quality.lost) || this.#isCut(message) ? undefined : this.#delay(message);
      },
      open: () => this.open(client, node),
      lingers: () => this.#random.chance(this.#quality.lingering),
      disturb: (ms) => this.#disturb(client, ms),
    });
  }

  #isCut({ client, node, direction }: Message): boolean {
    return this.#cuts.some((cut) => cut.until > this.#world.now && concerns(cut, client, node, direction));
  }

  #delay({ client, node, direction, kind }: Message): number {
    let delay: number = this.#random.between(...USUAL);
    if (this.#random.chance(this.#quality.delayed)) {
      delay = delayed(this.#random, this.#quality);
      this.#disturb(client, delay);
    }
    for (const lag of this.#lags) {
      if (lag.until <= this.#world.now || !concerns(lag, client, node, direction)) continue;
      if (lag.kinds !== undefined && !lag.kinds.includes(kind)) continue;
      delay += lag.ms;
      if (!this.#isMinor(lag.kinds)) this.#disturb(client, delay);
    }
    return delay;
  }

  /**
   * Returns whether only locks are restored later, which no promise depends on; on a connection all else waits for
   * that.
   */
  #isMinor(kinds: readonly Kind[] | undefined): boolean {
    return !this.#quality.connected && kinds?.every((kind) => kind === "retake") === true;
  }

  /** Sends one message, perhaps twice, between a client and a node. */
  #send(message: Message, lost: () => void, arrive: () => void): void {
    if (this.#isCut(message) || this.#random.chance(this.#quality.lost)) {
      this.#world.trace(message.client.name, `⇥ ${message.node.name} lost`);
      return lost();
    }
    const copies = this.#random.chance(this.#quality.doubled) ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) {
      const delay = this.#delay(message);
      if (copies > 1) this.#disturb(message.client, delay);
      this.#world.after(delay, arrive);
    }
  }

  #fail(client: Machine, reject: () => void): void {
    if (this.#quality.hangs && !this.#random.chance(NOTICES)) return this.#disturb(client, Infinity);
    const noticed = this.#random.spread(...NOTICED);
    this.#disturb(client, noticed);
    this.#world.after(noticed, () => client.deliver(reject));
  }

  #disturb(client: Machine, ms: number): void {
    this.#disturbances.note(this.#world.now + ms, client);
  }
}

interface Message {
  readonly client: Machine;
  readonly node: Machine;
  readonly direction: Direction;
  readonly kind: Kind;
}

function concerns(ways: Ways, client: Machine, node: Machine, direction: Direction): boolean {
  return ways.client === client && ways.nodes.includes(node) && (ways.direction ?? direction) === direction;
}

/** Returns whether a server has granted what an attempt or a vote has asked for; other requests grant nothing. */
function isGrant(kind: Kind, value: unknown): boolean {
  if (kind !== "attempt" && kind !== "vote") return true;
  const { granted, reply } = value as { granted?: boolean; reply?: unknown };
  return granted === true || typeof reply === "string" || Array.isArray(reply) && reply[0] === ":granted";
}

function link(client: Machine, node: Machine): string {
  return `${client.name} ${node.name}`;
}

function names(machines: readonly Machine[]): string {
  return machines.map(({ name }) => name).join(", ");
}

function show(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  return Object.entries(value).map(([key, value]) => `${key} ${value}`).join(", ");
}
