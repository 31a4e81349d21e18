import { Redis, type RedisOptions } from "ioredis";

/** A Redis server that a test has started, on a free port of the loopback interface. */
export class RedisServer implements AsyncDisposable {
  readonly port: number;
  readonly #directory: string;
  readonly #settings: string[];
  readonly #env: Record<string, string>;
  readonly #clients = new Set<Redis>();
  #process: Deno.ChildProcess | undefined;

  private constructor(port: number, settings: string[], env: Record<string, string>) {
    this.port = port;
    this.#settings = settings;
    this.#env = env;
    this.#directory = Deno.makeTempDirSync({ prefix: "holdfast_redis_" });
  }

  /** Starts a server; settings are those of its command line, such as `"--maxmemory", "2mb"`. */
  static async start(settings: string[] = [], env: Record<string, string> = {}): Promise<RedisServer> {
    const server = new RedisServer(freePort(), settings, env);
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
export async function closed(client: Redis): Promise<void> {
  if (client.status === "end" || client.status === "wait") return;
  client.options.retryStrategy = () => null;
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
