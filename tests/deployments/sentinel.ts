import { Redis, type RedisOptions, type SentinelAddress } from "ioredis";
import { until } from "../support/until.ts";
import { closed, RedisServer } from "../support/redis_server.ts";
import { cutReplication, FOLLOWING, inStep, mendReplication, startAll } from "./replicated.ts";

/** What the Sentinels call the master. */
const NAME = "holdfast";

/** How long a server must be silent before a Sentinel takes it for dead, in milliseconds. */
const DOWN_AFTER = 500;

/** How long clients wait between two tries to connect, in milliseconds: closing one takes as long. */
const RETRY = 50;

/**
 * How long the Sentinels may take to fail over or to notice who has come back, in milliseconds: they look every 10 s.
 */
const LIMIT = 60_000;

/** A master with replicas, and the Sentinels that promote one of them when it fails. */
export class SentinelDeployment implements AsyncDisposable {
  /** The first master, then its replicas. */
  readonly servers: readonly RedisServer[];
  readonly sentinels: readonly RedisServer[];
  readonly #stack: AsyncDisposableStack;
  readonly #clients: Redis[] = [];

  private constructor(servers: RedisServer[], sentinels: RedisServer[], stack: AsyncDisposableStack) {
    this.servers = servers;
    this.sentinels = sentinels;
    this.#stack = stack;
  }

  /** Starts one master, so many replicas and so many Sentinels; settings are further ones of the servers. */
  static async start({ replicas = 2, sentinels = 3, settings = [] as string[] } = {}): Promise<SentinelDeployment> {
    await using stack = new AsyncDisposableStack();
    const start = (further: string[]) => RedisServer.start([...FOLLOWING, ...settings, ...further]);
    const [master] = await startAll([() => start([])], stack) as [RedisServer];
    const following = ["--replicaof", "127.0.0.1", `${master.port}`];
    const servers = [master, ...await startAll(Array(replicas).fill(() => start(following)), stack)];
    // The Sentinels then find all of them when they look for the first time.
    await Promise.all(servers.slice(1).map((each) => until(() => inStep(each), "the replica is in step")));
    const file = [
      `sentinel monitor ${NAME} 127.0.0.1 ${master.port} ${Math.floor(sentinels / 2) + 1}`,
      `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER}`,
      `sentinel failover-timeout ${NAME} 3000`,
      `sentinel parallel-syncs ${NAME} ${Math.max(replicas, 1)}`,
    ];
    const watching = await startAll(Array(sentinels).fill(() => RedisServer.start(["--sentinel"], {}, file)), stack);
    const deployment = new SentinelDeployment(servers, watching, stack.move());
    try {
      await deployment.ready();
    } catch (error) {
      await deployment[Symbol.asyncDispose]();
      throw error;
    }
    return deployment;
  }

  /** What a client needs to find the master, of any version of ioredis. */
  get address(): { sentinels: SentinelAddress[]; name: string } {
    return { sentinels: this.sentinels.map(({ port }) => ({ host: "127.0.0.1", port })), name: NAME };
  }

  /** A new client of the master, whichever that is; closed with the deployment. */
  connect(options: Omit<RedisOptions, "replyMapping"> = {}): Redis {
    const retry = () => RETRY;
    return this.adopt(new Redis({ ...this.address, retryStrategy: retry, sentinelRetryStrategy: retry, ...options }));
  }

  /** Closes a client with this deployment. */
  adopt<T extends Parameters<RedisServer["adopt"]>[0]>(client: T): T {
    client.on("error", () => {});
    this.#clients.push(client as unknown as Redis);
    return client;
  }

  /** The master as the Sentinels that answer know it; rejects while they do not agree. */
  async master(): Promise<RedisServer> {
    const answers = await Promise.allSettled(
      this.sentinels.map((each) => each.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)),
    );
    const ports = new Set(
      answers.filter((each) => each.status === "fulfilled").map(({ value }) => {
        return Number((value as string[])[1]);
      }),
    );
    const [port] = ports;
    if (ports.size !== 1) throw new Error(`the Sentinels name ${ports.size} masters`);
    return this.servers.find((each) => each.port === port)!;
  }

  /** The servers that are not the master. */
  async replicas(): Promise<RedisServer[]> {
    const master = await this.master();
    return this.servers.filter((each) => each !== master);
  }

  /** The number of the last failover of which a Sentinel knows that it has succeeded. */
  async epoch(): Promise<number> {
    const answers = await Promise.all(this.sentinels.map((each) => each.command("SENTINEL", "MASTER", NAME)));
    return Math.max(...(answers as string[][]).map((words) => Number(words[words.indexOf("config-epoch") + 1])));
  }

  /** Waits until the Sentinels know of each other and of all replicas, which are in step: a failover can succeed. */
  async ready(): Promise<void> {
    await until(
      async () => {
        const knows = await Promise.all(this.sentinels.map(async (each) => {
          const words = await each.command("SENTINEL", "MASTER", NAME) as string[];
          const says = (field: string) => words[words.indexOf(field) + 1];
          return says("num-other-sentinels") === `${this.sentinels.length - 1}` && says("flags") === "master" &&
            says("num-slaves") === `${this.servers.length - 1}`;
        })).catch(() => [false]);
        if (knows.includes(false)) return false;
        const replicas = await this.replicas().catch(() => undefined);
        return replicas !== undefined && (await Promise.all(replicas.map(inStep))).every(Boolean);
      },
      "the Sentinels are ready to fail over",
      LIMIT,
    );
  }

  /** Waits until another server than this one is the master, and says so itself. Gives it. */
  async promoted(old: RedisServer): Promise<RedisServer> {
    let next: RedisServer | undefined;
    await until(
      async () => {
        next = await this.master().catch(() => undefined);
        if (next === undefined || next === old) return false;
        return (await next.command("ROLE").catch(() => []) as unknown[])[0] === "master";
      },
      "another server is the master",
      LIMIT,
    );
    return next!;
  }

  /**
   * Starts a server that was killed, as a replica of the master. By itself it would be a master for some 10 s. The
   * Sentinels may disagree meanwhile, or promote another server: then it follows that one.
   */
  async rejoin(server: RedisServer): Promise<void> {
    await server.start();
    let followed: RedisServer | undefined;
    await until(
      async () => {
        const master = await this.master().catch(() => undefined);
        if (master === undefined) return false;
        if (master === server) return true;
        if (master !== followed) await server.command("REPLICAOF", "127.0.0.1", master.port);
        followed = master;
        return await inStep(server);
      },
      "it is in step",
      LIMIT,
    );
  }

  /** Has the Sentinels promote a replica while the master is well; resolves when one is. */
  async failover(): Promise<RedisServer> {
    const old = await this.master();
    await until(
      // One that the Sentinels have begun by themselves ends first.
      () =>
        this.sentinels[0]!.command("SENTINEL", "FAILOVER", NAME).then(() => true, (error) => {
          if (!`${error}`.includes("INPROG")) throw error;
          return false;
        }),
      "a failover begins",
      LIMIT,
    );
    return await this.promoted(old);
  }

  /** Has the replicas hear of no further write of the master: what it does from now on is lost when it fails. */
  async cutReplication(): Promise<void> {
    await cutReplication(await this.master());
  }

  /** Lets them follow it again. */
  async mendReplication(): Promise<void> {
    await mendReplication(await this.master());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of [...this.servers, ...this.sentinels]) each.thaw();
    // Before the servers: a client that looks for them does not hear that it was closed.
    await Promise.all(this.#clients.map(closed));
    await this.#stack.disposeAsync();
  }
}
