import type { Machine } from "./machine.ts";
import type { Node, Work } from "./node.ts";
import type { Random } from "./random.ts";
import type { World } from "./world.ts";

/** What decides how long each message takes and whether the connection breaks instead. */
export interface Line {
  /** How many milliseconds the next message takes; `undefined`: it never comes, because the connection breaks. */
  readonly delay: () => number | undefined;
  /** Whether the machines could connect at this moment. */
  readonly open: () => boolean;
}

/** How long a client takes to notice that a connection is gone, and then between two tries to connect, in milliseconds. */
export const NOTICED = [0.1, 300] as const;

/** How often it then gives up what was not answered, as after too many tries, instead of sending it again. */
const GIVES_UP = 0.2;

/** How often a server does not know the script of a request: that is sent again with its text, behind later requests. */
const UNKNOWN = 0.1;

interface Call {
  readonly send: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * A connection as a client of Redis keeps it: messages come in their order, and once. When it breaks, those that are on
 * their way are gone, and the client sends over the next one, again, whatever was not answered: done or not.
 */
export class Connection {
  readonly #world: World;
  readonly #random: Random;
  readonly #client: Machine;
  readonly #node: Node;
  readonly #line: Line;
  readonly #unanswered = new Set<Call>();
  /** Which connection it is, and for the client: that notices later. */
  #epoch = 0;
  #session = 0;
  #broken = false;
  /** When the last message in each direction arrives: the next one does not overtake it. */
  readonly #last = { there: 0, back: 0 };

  constructor(world: World, random: Random, client: Machine, node: Node, line: Line) {
    this.#world = world;
    this.#random = random;
    this.#client = client;
    this.#node = node;
    this.#line = line;
  }

  /** How often the client has noticed that it was cut off. */
  get session(): number {
    return this.#session;
  }

  /** Sends a request and what comes of it back, over as many connections as it takes. */
  call<T>(work: Work<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const answer = (value: T) => {
        // What was answered before is not heard twice.
        if (this.#unanswered.delete(call)) resolve(value);
      };
      const call = { send: () => this.#send(work, answer), reject };
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
    this.#world.after(this.#random.spread(...NOTICED), () => this.#client.deliver(() => this.#notice()));
  }

  #send<T>(work: Work<T>, answer: (value: T) => void): void {
    const epoch = this.#epoch;
    const dropped = () => {
      if (epoch === this.#epoch) this.break();
    };
    const reply = (value: T) => this.#message("back", epoch, () => this.#client.deliver(() => answer(value)));
    // A server that was frozen does not serve a connection that has been closed meanwhile.
    const current: Work<T> = (store, down) => epoch === this.#epoch ? work(store, down) : new Promise(() => {});
    const ask = () => this.#message("there", epoch, () => this.#node.receive(current, reply, dropped));
    if (!this.#random.chance(UNKNOWN)) return ask();
    const refuse = () => this.#message("back", epoch, () => this.#client.deliver(ask));
    this.#message("there", epoch, () => this.#node.receive(() => Promise.resolve(), refuse, dropped));
  }

  #message(direction: "there" | "back", epoch: number, arrive: () => void): void {
    if (this.#broken || epoch !== this.#epoch) return;
    const delay = this.#line.delay();
    if (delay === undefined) return this.break();
    const at = this.#last[direction] = Math.max(this.#last[direction], this.#world.now + delay);
    this.#world.at(at, () => {
      if (epoch === this.#epoch) arrive();
    });
  }

  #notice(): void {
    this.#session++;
    if (this.#random.chance(GIVES_UP)) {
      for (const { reject } of this.#unanswered) reject(new Error("connection lost"));
      this.#unanswered.clear();
    }
    this.#connect();
  }

  #connect(): void {
    this.#world.after(this.#random.spread(...NOTICED), () =>
      this.#client.deliver(() => {
        if (!this.#node.up || !this.#line.open()) return this.#connect();
        this.#broken = false;
        for (const { send } of [...this.#unanswered]) send();
      }));
  }
}
