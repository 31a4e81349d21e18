import type { Machine } from "../kernel/machine.ts";
import { NOTICED } from "../kernel/messages.ts";
import type { Direction, Kind } from "./network.ts";
import type { Kept, Node, Work } from "./node.ts";
import type { Random } from "../kernel/random.ts";
import type { World } from "../kernel/world.ts";

/** Decides how long each message takes, and whether the connection breaks instead. */
export interface Line {
  /** How many milliseconds the next message takes; `undefined`: it never comes, because the connection breaks. */
  readonly delay: (direction: Direction, kind: Kind) => number | undefined;
  /** Whether the machines could connect at this moment. */
  readonly open: () => boolean;
  /** Whether a request that has left is done although the connection is gone, as one that lay in a server's buffer. */
  readonly lingers: () => boolean;
  /** Called when a fault disturbs the client for the next `ms` milliseconds. */
  readonly disturb: (ms: number) => void;
}

/** How often it then rejects what was not answered, as after too many tries, instead of sending it again. */
const GIVES_UP = 0.2;

/**
 * How often a server does not know the script of a request: that is sent again with its text, behind later requests.
 */
const UNKNOWN = 0.1;

interface Call {
  readonly send: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * A connection as a client of Redis keeps it: messages come in their order, and once. When it breaks, those that are on
 * their way are gone, and the client sends over the next one, again, whatever was not answered: done or not.
 */
export class Connection<K extends Kept> {
  readonly #world: World;
  readonly #random: Random;
  readonly #client: Machine;
  readonly #node: Node<K>;
  readonly #line: Line;
  readonly #unanswered = new Set<Call>();
  /** Which connection it is, and for the client: that notices later. */
  #epoch = 0;
  #session = 0;
  #broken = false;
  readonly #noticing: (() => void)[] = [];
  /** When the last message in each direction arrives: the next one does not overtake it. */
  readonly #last = { there: 0, back: 0 };

  constructor(world: World, random: Random, client: Machine, node: Node<K>, line: Line) {
    this.#world = world;
    this.#random = random;
    this.#client = client;
    this.#node = node;
    this.#line = line;
  }

  /** Has something run each time that the client notices that it was cut off. */
  onBreak(run: () => void): void {
    this.#noticing.push(run);
  }

  /** How often the client has noticed that it was cut off. */
  get session(): number {
    return this.#session;
  }

  /** Sends a request and what comes of it back, over as many connections as it takes. */
  call<T>(work: Work<T, K>, kind: Kind): Promise<T> {
    return new Promise((resolve, reject) => {
      const answer = (value: T) => {
        // An answer that came before is not received twice.
        if (this.#unanswered.delete(call)) resolve(value);
      };
      const call = { send: () => this.#send(work, kind, answer), reject };
      this.#unanswered.add(call);
      call.send();
    });
  }

  /** Breaks: nothing that is on its way arrives. */
  break(): void {
    if (this.#broken) return;
    this.#world.trace(this.#client.name, `⇥ ${this.#node.machine.name} connection broken`);
    this.#broken = true;
    this.#epoch++;
    const noticed = this.#random.spread(...NOTICED);
    this.#line.disturb(noticed);
    this.#world.after(noticed, () => this.#client.deliver(() => this.#notice()));
  }

  #send<T>(work: Work<T, K>, kind: Kind, answer: (value: T) => void): void {
    const epoch = this.#epoch;
    const dropped = () => {
      if (epoch === this.#epoch) this.break();
    };
    const reply = (value: T) => this.#message("back", kind, epoch, () => this.#client.deliver(() => answer(value)));
    // A server that was frozen serves a connection that has been closed meanwhile, if it has read the request by then.
    const current: Work<T, K> = (kept, down) => {
      return epoch === this.#epoch || this.#line.lingers() ? work(kept, down) : new Promise(() => {});
    };
    const ask = () => this.#message("there", kind, epoch, () => this.#node.receive(current, reply, dropped));
    if (!this.#random.chance(UNKNOWN)) return ask();
    const refuse = () => this.#message("back", kind, epoch, () => this.#client.deliver(ask));
    this.#message("there", kind, epoch, () => this.#node.receive(() => Promise.resolve(), refuse, dropped));
  }

  #message(direction: Direction, kind: Kind, epoch: number, arrive: () => void): void {
    if (this.#broken || epoch !== this.#epoch) return;
    const delay = this.#line.delay(direction, kind);
    if (delay === undefined) return this.break();
    const at = this.#last[direction] = Math.max(this.#last[direction], this.#world.now + delay);
    this.#world.at(at, () => {
      if (epoch === this.#epoch || direction === "there" && this.#line.lingers()) arrive();
    });
  }

  #notice(): void {
    this.#session++;
    for (const run of this.#noticing) run();
    if (this.#random.chance(GIVES_UP)) {
      for (const { reject } of this.#unanswered) reject(new Error("connection lost"));
      this.#unanswered.clear();
    }
    this.#connect();
  }

  #connect(): void {
    const next = this.#random.spread(...NOTICED);
    this.#line.disturb(next);
    this.#world.after(next, () =>
      this.#client.deliver(() => {
        if (!this.#line.open()) return this.#connect();
        this.#broken = false;
        for (const { send } of [...this.#unanswered]) send();
      }));
  }
}
