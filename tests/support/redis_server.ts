import { type Cluster, Redis, type RedisOptions } from "ioredis";
import { freePort, HIGHEST_PORT } from "./free_port.ts";
import { IdleServers } from "./idle_servers.ts";
import { ServerProcess, startedServer } from "./server_process.ts";
import { TestServer } from "./test_server.ts";
import { HANG_MS } from "./until.ts";

/** How long a server may take to say who it is, in milliseconds: one that is frozen accepts a connection as well. */
const ANSWER_LIMIT_MS = 2_000;

/** The bus of a Cluster node is 10,000 ports above that of its clients. */
const MAX_CLUSTER_PORT = HIGHEST_PORT - 10_000;

/** Forgets what a test has left on a server. */
const RENEWAL = ["FLUSHALL", "SCRIPT FLUSH", "CONFIG RESETSTAT"];

/** Tells what else distinguishes the server from one that has just started. */
const STATE = ["CONFIG GET *", "ACL LIST", "FUNCTION LIST", "ROLE", "CLIENT LIST"];

/** How often that is asked: the server may not have noticed yet that clients are closed. */
const LOOKS = 4;

const idle = new IdleServers<RedisServer>();

/** A Redis server that a test has started, on a free port of the loopback interface. */
export class RedisServer extends TestServer {
  readonly port: number;
  /** A setting that distinguishes it from other servers. */
  readonly #id = crypto.randomUUID();
  readonly #directory: string;
  readonly #settings: string[];
  readonly #env: Record<string, string>;
  readonly #file: string[];
  readonly #clients = new Set<Redis>();
  #frozen = false;
  /** What it is when it has just started; unknown if it is not to be used again. */
  #new: string | undefined;

  private constructor(settings: string[], env: Record<string, string>, file: string[]) {
    super();
    this.port = freePort(settings.includes("--cluster-enabled") ? MAX_CLUSTER_PORT : undefined);
    this.#settings = settings;
    this.#env = env;
    this.#directory = Deno.makeTempDirSync({ prefix: "holdfast_redis_" });
    if (file.length > 0) Deno.writeTextFileSync(`${this.#directory}/redis.conf`, file.join("\n"));
    this.#file = file.length > 0 ? [`${this.#directory}/redis.conf`] : [];
  }

  /**
   * Starts a server; settings are those of its command line, such as `"--maxmemory", "2mb"`. REDIS_SERVER in
   * its environment, or in that of the tests, names the program. A Sentinel wants its
   * settings, line by line, in a file to which it can write.
   *
   * Without any of these it may be one that another test of the file has closed: it is as new, but for its port.
   */
  static async start(
    settings: string[] = [],
    env: Record<string, string> = {},
    file: string[] = [],
  ): Promise<RedisServer> {
    const make = () => startedServer(() => new RedisServer(settings, env, file), (server) => server.start());
    const usual = settings.length + file.length + Object.keys(env).length === 0;
    if (!usual || !IdleServers.used) return await make();
    const used = idle.take();
    if (used !== undefined) return used;
    const server = await make();
    server.#new = await server.#renewed(HANG_MS).catch(() => undefined);
    return server;
  }

  /** Starts the process, and waits until it answers. */
  async start(): Promise<void> {
    const program = this.#env["REDIS_SERVER"] ?? Deno.env.get("REDIS_SERVER") ?? "redis-server";
    const process = this.process = new ServerProcess(program, {
      args: [
        ...this.#file,
        ...["--port", `${this.port}`, "--bind", "127.0.0.1", "--dir", this.#directory],
        ...["--save", "", "--appendonly", "no", "--daemonize", "no", "--syslog-ident", this.#id],
        ...this.#settings,
      ],
      env: this.#env,
    });
    for (let tries = 0;; tries++) {
      try {
        return await this.#meet();
      } catch (error) {
        if (process.ended || tries === 6_000) throw error;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
  }

  /** Rejects unless the server on the port is this one: another process may have been quicker. */
  async #meet(): Promise<void> {
    const reply = await this.#ask(["CONFIG GET syslog-ident"], async (connection) => {
      const buffer = new Uint8Array(1_024);
      return new TextDecoder().decode(buffer.subarray(0, await connection.read(buffer) ?? 0));
    });
    // A Sentinel knows no such command.
    const known = reply.startsWith("-") || reply.includes(this.#id);
    if (!known) throw new Error(`another server has taken port ${this.port}`);
  }

  /** Makes the server as new as can be. Returns the rest: settings, users, functions, replicas, other connections. */
  async #renewed(limit?: number): Promise<string> {
    const all = (connection: Deno.Conn) => new Response(connection.readable).text();
    const reply = await this.#ask([...RENEWAL, ...STATE, "QUIT"], all, limit);
    // Of the connections one is its own. Each process has an order of its settings.
    return reply.replace(/^\$\d+$/gm, "").replace(/^id=.*$/m, "").split("\r\n").sort().join("\n");
  }

  /** Sends commands over a connection of their own, and returns what is read as the server writes it. */
  async #ask(
    commands: readonly string[],
    read: (connection: Deno.Conn) => Promise<string>,
    limit: number = ANSWER_LIMIT_MS,
  ): Promise<string> {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: this.port });
    const id = setTimeout(() => connection.close(), limit);
    try {
      await connection.write(new TextEncoder().encode(commands.map((command) => `${command}\r\n`).join("")));
      return await read(connection);
    } finally {
      clearTimeout(id);
    }
  }

  /** Returns a new client of this server, closed with it. */
  connect(options: Omit<RedisOptions, "replyMapping"> = {}): Redis {
    return this.adopt(new Redis(this.port, "127.0.0.1", options));
  }

  /** Sends one command over a connection of its own, and returns the reply; rejects soon when the server is away. */
  async command(...words: [string, ...(string | number)[]]): Promise<unknown> {
    if (this.#frozen) throw new Error("the server is frozen");
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

  /** Ends its process, without waiting. */
  end(): void {
    this.process?.signal("SIGKILL");
    Deno.removeSync(this.#directory, { recursive: true });
  }

  override freeze(): void {
    this.#frozen = true;
    super.freeze();
  }

  override thaw(): void {
    this.#frozen = false;
    super.thaw();
  }

  /** Returns the keys on the server, without fences: those stay for 7 days. */
  async leftovers(): Promise<string[]> {
    const client = new Redis(this.port, "127.0.0.1");
    try {
      return (await client.keys("*")).filter((key) => !/:(fence|calls)$/.test(key));
    } finally {
      await closed(client);
    }
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    this.thaw();
    await Promise.all([...this.#clients].map(closed));
    this.#clients.clear();
    for (let looks = 0; this.process !== undefined && this.#new !== undefined && looks < LOOKS; looks++) {
      const state = await this.#renewed().catch(() => {});
      if (state === this.#new) return idle.give(this, this.process);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
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
  // Between two connections it emits no end.
  const silent = client.status === "reconnecting";
  client.disconnect();
  // Nor do its nodes always, when they are just being replaced.
  let id: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => id = setTimeout(resolve, 3_000));
  await Promise.race([late, Promise.all([silent || end, ...nodes.map(redisClosed)])]);
  clearTimeout(id);
}

async function redisClosed(client: Redis): Promise<void> {
  if (client.status === "end") return;
  client.options.retryStrategy = client.options.sentinelRetryStrategy = () => null;
  const end = new Promise<void>((resolve) => client.on("end", () => resolve()));
  // Between two connections disconnect() emits no end and leaves a timer, and while a server loads its data it leaves
  // that of the next question whether it is ready: let the connection get ready or fail. One to a frozen server does
  // neither.
  if (client.status === "reconnecting" || client.status === "connect") {
    let id: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<boolean>((resolve) => id = setTimeout(() => resolve(false), 3_000));
    const ready = new Promise<void>((resolve) => client.on("ready", () => resolve()));
    const ended = await Promise.race([end.then(() => true), ready.then(() => false), late]);
    clearTimeout(id);
    if (ended) return;
  }
  client.disconnect();
  await end;
}
