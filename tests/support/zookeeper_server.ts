import { createClient } from "node-zookeeper-client";
import type { ZookeeperClient } from "@holdfast/lock/zookeeper";
import { librariesOf } from "./debian_programs.ts";
import { inTime } from "./in_time.ts";
import { freePort } from "./free_port.ts";
import { ServerProcess, startedServer } from "./server_process.ts";
import { TestServer } from "./test_server.ts";
import { HANG_MS, until } from "./until.ts";
import { findZookeeper } from "./zookeeper.ts";

/** How long an answer of a server that starts is waited for, in milliseconds: it may never come. */
const START_ANSWER_MS = 1_000;

/** How much memory a server may take, and how quickly it begins. */
const JAVA = ["-Xmx96m", "-Xss512k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"];

/**
 * Not to wait for the disk, which would be longer than leases of the suite allow; a killed server still forgets
 * nothing.
 */
const QUICK = ["-Dzookeeper.forceSync=no", "-Dzookeeper.preAllocSize=1024", "-Dzookeeper.4lw.commands.whitelist=*"];

/** Sessions last from 1 to 60 s, and a follower is dropped that has not answered for 10 s. */
const SETTINGS = ["tickTime=500", "maxSessionTimeout=60000", "initLimit=60", "syncLimit=20", "maxClientCnxns=0"];

/** The states of a client: connected, and closed. */
const CONNECTED = 2;
export const CLOSED = -2;

/** A client of node-zookeeper-client, with what the tests do to it. */
export interface TestClient extends ZookeeperClient {
  close(): void;
  addAuthInfo(scheme: string, auth: Uint8Array): void;
  once(event: string, listener: () => void): unknown;
  setACL(path: string, acl: unknown[], done: (error: unknown) => void): void;
  readonly connectionManager: {
    readonly state: number;
    xid: number;
    readonly socket?: { destroy(): void; readonly remotePort?: number };
    readonly sessionId: Uint8Array;
    readonly sessionPassword: Uint8Array;
    queue(request: object, done: () => void): void;
  };
}

/** The options of a client. */
export interface ClientOptions {
  readonly sessionTimeout?: number;
  /** A session that there is, and its password, as a `Buffer` each. */
  readonly sessionId?: Uint8Array;
  readonly sessionPassword?: Uint8Array;
}

/** What a server is started with beside the usual settings. */
export interface ZookeeperServerOptions {
  /** Lines of its configuration. */
  readonly settings?: readonly string[];
  /** Options of Java, which come last. */
  readonly java?: readonly string[];
  /** Its number in an ensemble. */
  readonly id?: number;
}

/** A ZooKeeper server that a test has started, on a free port of the loopback interface. */
export class ZookeeperServer extends TestServer {
  readonly port: number = freePort();
  readonly directory: string = Deno.makeTempDirSync({ prefix: "holdfast_zookeeper_" });
  readonly #options: ZookeeperServerOptions;

  /** Makes one that is not started yet. */
  constructor(options: ZookeeperServerOptions = {}) {
    super();
    this.#options = options;
    if (options.id !== undefined) Deno.writeTextFileSync(`${this.directory}/myid`, `${options.id}`);
  }

  /** Starts an empty server. */
  static async start(options: ZookeeperServerOptions = {}): Promise<ZookeeperServer> {
    return await startedServer(() => new ZookeeperServer(options), (server) => server.start());
  }

  /** Where clients connect. */
  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Starts the process, and waits until it serves clients. */
  async start(): Promise<void> {
    this.launch();
    await this.ready();
  }

  /** Starts the process, and does not wait. */
  launch(): void {
    const found = findZookeeper();
    if ("missing" in found) throw new Error(found.missing);
    const { settings = [], java = [] } = this.#options;
    const file = `${this.directory}/zoo.cfg`;
    const place = [`dataDir=${this.directory}`, `clientPort=${this.port}`, "clientPortAddress=127.0.0.1"];
    Deno.writeTextFileSync(file, [...place, "admin.enableServer=false", ...SETTINGS, ...settings, ""].join("\n"));
    const main = ["-cp", found.classPath, "org.apache.zookeeper.server.quorum.QuorumPeerMain", file];
    this.process = new ServerProcess(found.program, {
      args: [...JAVA, ...QUICK, ...java, ...main],
      env: librariesOf(found.program),
    });
  }

  /** Resolves when it serves clients. */
  async ready(): Promise<void> {
    const serves = async () => {
      if (this.process?.ended ?? true) throw new Error("the server has ended");
      // Another process may have been quicker on that port.
      if (await this.mode(START_ANSWER_MS) === undefined) return false;
      return (await this.command("conf", START_ANSWER_MS).catch(() => "")).includes(`dataDir=${this.directory}/`);
    };
    await until(serves, "the server serves clients", HANG_MS);
  }

  /** Returns what it is: `standalone`, `leader` or `follower`; `undefined` if it serves no clients. */
  async mode(limit?: number): Promise<string | undefined> {
    try {
      return (await this.command("srvr", limit)).match(/^Mode: (\w+)$/m)?.[1];
    } catch {
      return undefined;
    }
  }

  /** Returns a figure of the command `mntr`, such as `zk_outstanding_requests`. */
  async figure(name: string): Promise<number> {
    const [, figure] = (await this.command("mntr")).match(new RegExp(`^${name}\\t([\\d.]+)$`, "m")) ?? [];
    return Number(figure);
  }

  /** Sends a four-letter word, and returns the answer; rejects after the limit, in milliseconds. */
  async command(word: string, limit: number = HANG_MS): Promise<string> {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: this.port });
    await connection.write(new TextEncoder().encode(word));
    return await inTime(new Response(connection.readable).text(), limit, `the answer to "${word}"`);
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await Deno.remove(this.directory, { recursive: true });
  }
}

/** How one server of an ensemble reaches another one that leads; both by their numbers, which begin with 1. */
export interface PeerWay {
  readonly from: number;
  readonly to: number;
  readonly port: number;
}

/** Several servers that agree. */
export class ZookeeperEnsemble implements AsyncDisposable {
  readonly servers: readonly ZookeeperServer[];

  private constructor(servers: readonly ZookeeperServer[]) {
    this.servers = servers;
  }

  /**
   * Starts servers, and waits until they have a leader. `reached` makes a way from one to the port where another one,
   * as the leader, expects it, and returns the port of that way.
   */
  static async start(
    size: number,
    options: ZookeeperServerOptions = {},
    reached: (way: PeerWay) => Promise<number> = ({ port }) => Promise.resolve(port),
  ): Promise<ZookeeperEnsemble> {
    return await startedServer(() => ZookeeperEnsemble.#make(size, options, reached), async ({ servers }) => {
      for (const server of servers) server.launch();
      await Promise.all(servers.map((server) => server.ready()));
    });
  }

  static async #make(
    size: number,
    options: ZookeeperServerOptions,
    reached: (way: PeerWay) => Promise<number>,
  ): Promise<ZookeeperEnsemble> {
    const members = Array.from(
      { length: size },
      (_, index) => ({ id: index + 1, port: freePort(), elects: freePort() }),
    );
    const servers = members.map(async ({ id }) => {
      const lines = members.map(async ({ id: to, port, elects }) => {
        return `server.${to}=127.0.0.1:${to === id ? port : await reached({ from: id, to, port })}:${elects}`;
      });
      const settings = [...await Promise.all(lines), ...options.settings ?? []];
      return new ZookeeperServer({ ...options, settings, id });
    });
    return new ZookeeperEnsemble(await Promise.all(servers));
  }

  /** Where clients connect. */
  get address(): string {
    return this.servers.map(({ address }) => address).join();
  }

  /** Returns the server that leads, and those that follow. */
  async roles(): Promise<{ leader: ZookeeperServer; followers: ZookeeperServer[] }> {
    const modes = await Promise.all(this.servers.map((server) => server.mode()));
    const of = (mode: string) => this.servers.filter((_, index) => modes[index] === mode);
    const [leader] = of("leader");
    if (leader === undefined) throw new Error(`there is no leader: ${modes}`);
    return { leader, followers: of("follower") };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.servers) await server[Symbol.asyncDispose]();
  }
}

/** Returns a client that is connected, or tries to be. */
export function connected(address: string, options: ClientOptions = {}): TestClient {
  const client: TestClient = createClient(address, { spinDelay: 50, ...options });
  client.connect();
  return client;
}

/** Whether a client has a session, and a connection to a server. */
export function isConnected(client: TestClient): boolean {
  return client.connectionManager.state === CONNECTED;
}

/**
 * Closes a client once it is connected, after so many milliseconds in any case, and waits until its connection is gone.
 */
export async function closeClient(client: TestClient, patience = 2_000): Promise<void> {
  const inside = client.connectionManager;
  const isClosed = () => inside.state === CLOSED;
  // One that is closed while it connects takes the answer for another one, and throws where nobody can catch it.
  await until(() => isClosed() || isConnected(client), "the client is connected", patience).catch(() => {});
  const wasConnected = isConnected(client);
  if (!isClosed()) client.close();
  if (!wasConnected) inside.socket?.destroy();
  // A server that is gone does not answer.
  await until(isClosed, "the session is closed", 1_000).catch(() => inside.socket?.destroy());
  await until(isClosed, "the client is closed");
}
