/**
 * Stands in for `tests/support/redis_server.ts` in the other runtimes: not all of them can start processes, so that the
 * program which has started them also starts the servers for their tests.
 *
 * @module
 */
import type { UpstashOptions } from "@holdfast/lock/upstash";
import { Redis, type RedisOptions } from "ioredis";
import { type Operation, settings, type Started } from "./settings.ts";

/** A Redis server that a test has started, on a free port of the loopback interface. */
export class RedisServer implements AsyncDisposable {
  readonly port: number;
  readonly #id: number;
  readonly #clients = new Set<Redis>();

  private constructor({ id, port }: Started) {
    this.#id = id;
    this.port = port;
  }

  /** Starts a server; the arguments are those of its command line. */
  static async start(args: string[] = []): Promise<RedisServer> {
    return new RedisServer(await ask({ do: "open", args }) as Started);
  }

  /** Starts the process again, and waits until it answers. */
  async start(): Promise<void> {
    await ask({ do: "start", id: this.#id });
  }

  /** Kills the process, and waits until it is gone. */
  async kill(): Promise<void> {
    await ask({ do: "kill", id: this.#id });
  }

  /** Sends one command over a connection of its own, and returns the reply. */
  async command(...words: [string, ...(string | number)[]]): Promise<unknown> {
    return await ask({ do: "command", id: this.#id, words });
  }

  /** The keys on the server, without fences. */
  async leftovers(): Promise<string[]> {
    return await ask({ do: "leftovers", id: this.#id }) as string[];
  }

  /** What `upstash()` needs to use the server, through a new front that speaks HTTP. */
  async front(): Promise<UpstashOptions> {
    return await ask({ do: "front", id: this.#id }) as UpstashOptions;
  }

  /** A new client of this server, closed with it. */
  connect(options: Omit<RedisOptions, "replyMapping"> = {}): Redis {
    return this.adopt(new Redis(this.port, "127.0.0.1", options));
  }

  /** Closes a client with this server. */
  adopt<T extends { disconnect(): void; status: string; on(event: "error" | "end", listener: () => void): unknown }>(
    client: T,
  ): T {
    client.on("error", () => {});
    this.#clients.add(client as unknown as Redis);
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#clients].map(closed));
    await ask({ do: "close", id: this.#id });
  }
}

/** Closes a client, and waits until that is done. */
export async function closed(client: Redis): Promise<void> {
  if (client.status === "end") return;
  client.options.retryStrategy = () => null;
  const end = new Promise<void>((resolve) => client.on("end", () => resolve()));
  // Between two connections disconnect() emits no end and leaves a timer: let the next connection come or fail.
  if (client.status === "reconnecting") {
    const ready = new Promise<void>((resolve) => client.on("ready", () => resolve()));
    if (await Promise.race([end.then(() => true), ready.then(() => false)])) return;
  }
  client.disconnect();
  await end;
}

/** Returns a port of the loopback interface that nobody listens on. */
export function freePort(): number {
  const port = settings.freePorts.pop();
  if (port === undefined) throw new Error("no free port is left");
  return port;
}

async function ask(operation: Operation): Promise<unknown> {
  // Not kept alive: after the last test nothing may hold up the end of the process.
  const response = await fetch(settings.host, {
    method: "POST",
    headers: { connection: "close" },
    body: JSON.stringify(operation),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return JSON.parse(text);
}
