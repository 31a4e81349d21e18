import { type Cluster, Redis, type RedisOptions } from "ioredis";

/** A Redis server that a test has started, on a free port of the loopback interface. */
export class RedisServer implements AsyncDisposable {
  readonly port: number;
  readonly #directory: string;
  readonly #settings: string[];
  readonly #env: Record<string, string>;
  readonly #file: string[];
  readonly #clients = new Set<Redis>();
  #process: Deno.ChildProcess | undefined;

  private constructor(settings: string[], env: Record<string, string>, file: string[]) {
    this.port = freePort();
    this.#settings = settings;
    this.#env = env;
    this.#directory = Deno.makeTempDirSync({ prefix: "holdfast_redis_" });
    if (file.length > 0) Deno.writeTextFileSync(`${this.#directory}/redis.conf`, file.join("\n"));
    this.#file = file.length > 0 ? [`${this.#directory}/redis.conf`] : [];
  }

  /**
   * Starts a server; settings are those of its command line, such as `"--maxmemory", "2mb"`. A Sentinel wants its
   * settings, line by line, in a file to which it can write.
   */
  static async start(
    settings: string[] = [],
    env: Record<string, string> = {},
    file: string[] = [],
  ): Promise<RedisServer> {
    const server = new RedisServer(settings, env, file);
    try {
      await server.start();
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
    return server;
  }

  /** Starts the process, and waits until it answers. */
  async start(): Promise<void> {
    const process = this.#process = new Deno.Command(Deno.env.get("REDIS_SERVER") ?? "redis-server", {
      args: [
        ...this.#file,
        ...["--port", `${this.port}`, "--bind", "127.0.0.1", "--dir", this.#directory],
        ...["--save", "", "--appendonly", "no", "--daemonize", "no", ...this.#settings],
      ],
      env: this.#env,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    let ended = false;
    void process.status.then(() => ended = true);
    for (let tries = 0;; tries++) {
      try {
        (await Deno.connect({ hostname: "127.0.0.1", port: this.port })).close();
        return;
      } catch (error) {
        if (ended || tries === 500) throw error;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
  }

  /** A new client of this server, closed with it. */
  connect(options: Omit<RedisOptions, "replyMapping"> = {}): Redis {
    return this.adopt(new Redis(this.port, "127.0.0.1", options));
  }

  /** Sends one command over a connection of its own, and gives the reply; rejects soon when the server is away. */
  async command(...words: [string, ...(string | number)[]]): Promise<unknown> {
    const client = new Redis(this.port, "127.0.0.1", {
      lazyConnect: true,
      enableReadyCheck: false,
      maxRetriesPerRequest: 0,
      retryStrategy: () => null,
      commandTimeout: 5_000,
    });
    client.on("error", () => {});
    try {
      return await client.call(...words);
    } finally {
      await closed(client);
    }
  }

  /** Closes a client with this server. */
  adopt<T extends { disconnect(): void; status: string; on(event: "error" | "end", listener: () => void): unknown }>(
    client: T,
  ): T {
    client.on("error", () => {});
    this.#clients.add(client as unknown as Redis);
    return client;
  }

  /** Freezes the process: it accepts and answers nothing, and keeps its connections. */
  freeze(): void {
    this.#signal("SIGSTOP");
  }

  /** Lets it go on. */
  thaw(): void {
    this.#signal("SIGCONT");
  }

  /** Kills the process, and waits until it is gone. */
  async kill(): Promise<void> {
    const process = this.#process;
    this.#signal("SIGKILL");
    this.#process = undefined;
    await process?.status;
  }

  #signal(signal: Deno.Signal): void {
    try {
      this.#process?.kill(signal);
    } catch (error) {
      // It has ended already: Ctrl-C reaches all processes of a terminal.
      if (!(error instanceof TypeError)) throw error;
    }
  }

  /** The keys on the server, without fences: those stay for 7 days. */
  async leftovers(): Promise<string[]> {
    const client = new Redis(this.port, "127.0.0.1");
    try {
      return (await client.keys("*")).filter((key) => !key.endsWith(":fence"));
    } finally {
      await closed(client);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#signal("SIGCONT");
    await Promise.all([...this.#clients].map(closed));
    await this.kill();
    await Deno.remove(this.#directory, { recursive: true });
  }
}

/** Closes a client, and waits until that is done. */
export async function closed(client: Redis | Cluster): Promise<void> {
  if (client.isCluster) return await clusterClosed(client as Cluster);
  return await redisClosed(client as Redis);
}

async function clusterClosed(client: Cluster): Promise<void> {
  if (client.status === "end" || client.status === "wait") return;
  const nodes = client.nodes();
  const end = new Promise<void>((resolve) => client.on("end", () => resolve()));
  client.options.clusterRetryStrategy = () => null;
  client.disconnect();
  await Promise.all([end, ...nodes.map(redisClosed)]);
}

async function redisClosed(client: Redis): Promise<void> {
  if (client.status === "end" || client.status === "wait") return;
  client.options.retryStrategy = client.options.sentinelRetryStrategy = () => null;
  const end = new Promise<void>((resolve) => client.on("end", () => resolve()));
  // Between two connections disconnect() tells of no end and leaves a timer: let the next connection come or fail.
  if (client.status === "reconnecting") {
    const ready = new Promise<void>((resolve) => client.on("ready", () => resolve()));
    const ended = await Promise.race([end.then(() => true), ready.then(() => false)]);
    if (ended) return;
  }
  client.disconnect();
  await end;
}

/** A port of the loopback interface that nobody listens on. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
