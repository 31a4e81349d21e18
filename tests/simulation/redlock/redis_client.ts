import type { IoredisClient, RedisSubscriber } from "../../../src/stores/redis/clients/client.ts";
import * as scripts from "../../../src/stores/redis/scripts/generated.ts";
import { type Reply, ReplyError } from "../../../tools/lua/keyspace.ts";
import type { Machine } from "../kernel/machine.ts";
import type { Kind } from "./network.ts";
import type { Node } from "./node.ts";
import type { Random } from "../kernel/random.ts";
import type { Run } from "./run.ts";
import type { KeptScripts, Listener } from "./script_node.ts";

/** What the scripts are for, by their SHA-1. */
const KINDS = new Map<string, Kind>([
  [scripts.attempt.sha, "attempt"],
  [scripts.vote.sha, "vote"],
  [scripts.confirm.sha, "confirm"],
  [scripts.inspect.sha, "inspect"],
  [scripts.retake.sha, "retake"],
  [scripts.renew.sha, "renew"],
  [scripts.release.sha, "release"],
]);

const SOURCES = new Map(Object.values(scripts).map(({ sha, source }) => [sha, source]));

/**
 * How long it takes to connect, and how long a server keeps the connection of a client that is gone, in milliseconds.
 */
const CONNECTS = [0.3, 10] as const;
const KEEPS = [1, 3_000] as const;

/** A reply, or that it is an error. */
type Answer = { readonly reply: Reply } | { readonly error: string };

/** A client of ioredis's shape on a machine of the simulated world. */
export class SimulatedRedis implements IoredisClient {
  readonly #run: Run;
  readonly #random: Random;
  readonly #machine: Machine;
  readonly #node: Node<KeptScripts>;
  readonly status = "ready";

  constructor(run: Run, random: Random, machine: Machine, node: Node<KeptScripts>) {
    this.#run = run;
    this.#random = random;
    this.#machine = machine;
    this.#node = node;
  }

  evalsha(sha: string, numberOfKeys: number, ...rest: string[]): Promise<unknown> {
    return this.#script(sha, numberOfKeys, rest, ({ server }) => {
      if (!server.knows(sha)) throw new ReplyError("NOSCRIPT No matching script. Please use EVAL.");
      return server.eval(SOURCES.get(sha)!, rest.slice(0, numberOfKeys), rest.slice(numberOfKeys));
    });
  }

  eval(source: string, numberOfKeys: number, ...rest: string[]): Promise<unknown> {
    const sha = [...SOURCES].find(([, known]) => known === source)?.[0] ?? "";
    return this.#script(sha, numberOfKeys, rest, ({ server }) => {
      server.learn(sha);
      return server.eval(source, rest.slice(0, numberOfKeys), rest.slice(numberOfKeys));
    });
  }

  duplicate(...[overrides]: never[]): RedisSubscriber {
    const { retryStrategy } = overrides as unknown as { retryStrategy: (times: number) => number | null };
    return new SimulatedSubscriber(this.#run, this.#random.fork(), this.#machine, this.#node, retryStrategy);
  }

  on(event: string, listener: (...values: never[]) => void): this {
    if (event === "close") this.#run.network.onBreak(this.#machine, this.#node, () => listener());
    return this;
  }

  async #script(
    sha: string,
    numberOfKeys: number,
    rest: readonly string[],
    run: (kept: KeptScripts) => Reply,
  ): Promise<Reply> {
    const { network, dealings, world } = this.#run;
    const kind = KINDS.get(sha) ?? "other";
    const id = rest[numberOfKeys] ?? "";
    const node = this.#node;
    const concerns = kind !== "other";
    const work = (kept: KeptScripts): Promise<Answer> => {
      try {
        const reply = run(kept);
        // Not before: a script that the server does not know is refused.
        if (concerns) dealings.executing(node, kind, id);
        const busy = Array.isArray(reply) && reply.length === 2 && typeof reply[0] === "number";
        if (concerns && busy && rest[numberOfKeys + 3]) dealings.queued(node, id);
        return Promise.resolve({ reply });
      } catch (error) {
        if (error instanceof ReplyError) return Promise.resolve({ error: error.message });
        throw error;
      }
    };
    if (concerns) dealings.of(node, id);
    const what = world.logs ? `${kind} ${rest[0]} ${world.label(id)}` : kind;
    const repeated = () => concerns && dealings.repeated(node, kind, id);
    const overdue = () => concerns && dealings.overdue(node, kind, id);
    const answer = await network.call(this.#machine, node, { kind, what, work, repeated, overdue });
    if ("error" in answer) throw new ReplyError(answer.error);
    return answer.reply;
  }
}

type Event = "connect" | "ready" | "close" | "end" | "error" | "message";

/** The connection of such a client that only listens. */
class SimulatedSubscriber implements RedisSubscriber {
  readonly #run: Run;
  readonly #random: Random;
  readonly #machine: Machine;
  readonly #node: Node<KeptScripts>;
  readonly #retry: (times: number) => number | null;
  readonly #listeners = new Map<Event, ((...args: string[]) => void)[]>();
  #times = 0;
  #kept: KeptScripts | undefined;
  #listener: Listener & { readonly channels: Set<string> } | undefined;
  status = "connecting";

  constructor(
    run: Run,
    random: Random,
    machine: Machine,
    node: Node<KeptScripts>,
    retry: (times: number) => number | null,
  ) {
    this.#run = run;
    this.#random = random;
    this.#machine = machine;
    this.#node = node;
    this.#retry = retry;
    this.#connect();
  }

  subscribe(...channels: string[]): Promise<unknown> {
    const listener = this.#listener;
    const work = (kept: KeptScripts) => {
      if (listener !== undefined && listener === this.#listener) {
        this.#kept = kept;
        kept.listeners.add(listener);
        for (const channel of channels) listener.channels.add(channel);
      }
      return Promise.resolve();
    };
    if (listener === undefined) return Promise.reject(new Error("connection lost"));
    return this.#run.network.call(this.#machine, this.#node, { kind: "subscribe", what: "subscribe", work });
  }

  disconnect(reconnect = false): void {
    if (this.status === "end") return;
    this.#drop();
    this.#run.world.after(0, () =>
      this.#machine.deliver(() => {
        this.#emit("close");
        if (reconnect) this.#again();
        else this.#end();
      }));
  }

  on(event: Event, listener: (channel: string, message: string) => void): this {
    this.#listeners.set(event, [...this.#listeners.get(event) ?? [], listener as (...args: string[]) => void]);
    return this;
  }

  #emit(event: Event, ...args: string[]): void {
    for (const listener of this.#listeners.get(event) ?? []) listener(...args);
  }

  #connect(): void {
    this.status = "connecting";
    this.#run.world.after(this.#random.spread(...CONNECTS), () =>
      this.#machine.deliver(() => {
        if (this.status !== "connecting") return;
        if (!this.#run.network.open(this.#machine, this.#node)) {
          this.#emit("error");
          this.#emit("close");
          return this.#again();
        }
        this.#open();
      }));
  }

  #open(): void {
    const listener = {
      channels: new Set<string>(),
      receive: (channel: string, message: string) => receive(channel, message),
    };
    const receive = (channel: string, message: string) => {
      const arrive = () => {
        if (this.#listener === listener) this.#emit("message", channel, message);
      };
      this.#run.network.push(this.#machine, this.#node, arrive, () => this.#break(listener));
    };
    this.#listener = listener;
    this.#times = 0;
    this.status = "ready";
    this.#node.running.addEventListener("abort", () => this.#break(listener), { once: true });
    this.#emit("connect");
    this.#emit("ready");
  }

  /** Breaks the connection, which both ends notice some time later. */
  #break(listener: Listener): void {
    this.#run.world.after(this.#random.spread(...KEEPS), () =>
      this.#machine.deliver(() => {
        if (this.#listener !== listener) return;
        // Until it has subscribed again, the server takes it for gone.
        this.#run.disturbances.note(this.#run.world.now + KEEPS[1], this.#machine);
        this.#drop();
        this.#emit("close");
        this.#again();
      }));
  }

  #drop(): void {
    const listener = this.#listener;
    const kept = this.#kept;
    this.#listener = undefined;
    this.status = "reconnecting";
    if (listener === undefined) return;
    const forget = () => void kept?.listeners.delete(listener);
    if (this.#run.network.open(this.#machine, this.#node)) forget();
    else this.#run.world.after(this.#random.spread(...KEEPS), forget);
  }

  #again(): void {
    const pause = this.#retry(++this.#times);
    if (pause === null) return this.#end();
    this.status = "reconnecting";
    this.#run.world.after(pause, () => this.#machine.deliver(() => this.#connect()));
  }

  #end(): void {
    this.status = "end";
    this.#emit("end");
  }
}
