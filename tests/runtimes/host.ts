import { type ClientName, CLIENTS, OPEN } from "../guard/databases.ts";
import { findEtcd } from "../support/etcd.ts";
import { EtcdServer } from "../support/etcd_server.ts";
import { findMariadb } from "../support/mariadb.ts";
import { MariadbServer } from "../support/mariadb_server.ts";
import { findPostgres } from "../support/postgres.ts";
import { PostgresServer } from "../support/postgres_server.ts";
import { freePort } from "../support/free_port.ts";
import { RedisServer } from "../support/redis_server.ts";
import { RestFront } from "../support/rest_front.ts";
import { findZookeeper } from "../support/zookeeper.ts";
import { ZookeeperServer } from "../support/zookeeper_server.ts";
import type { Operation, Settings, Started } from "./inside/settings.ts";

/** A server that all runtimes share, what finds its program, and the client with which databases are made. */
const DATABASES = {
  postgres: { find: findPostgres, start: () => PostgresServer.start(), client: "pg" },
  mysql: { find: findMariadb, start: () => MariadbServer.start(), client: "mysql2" },
} as const;

/**
 * Starts and stops Redis servers for tests that run in another runtime, and ask for it over HTTP. Makes databases for
 * them, on servers that it starts, and starts etcd and ZooKeeper.
 */
export class Host implements AsyncDisposable {
  readonly #servers = new Map<number, RedisServer>();
  /** Those that speak HTTP for Redis servers. */
  readonly #fronts: RestFront[] = [];
  readonly #http: Deno.HttpServer<Deno.NetAddr>;
  readonly #databases = new Map<keyof typeof DATABASES, Promise<PostgresServer | MariadbServer>>();
  #etcd: Promise<EtcdServer> | undefined;
  #zookeeper: Promise<ZookeeperServer> | undefined;
  #opened = 0;

  constructor() {
    this.#http = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => this.#answer(request));
  }

  /** Where it listens. */
  get url(): string {
    return `http://127.0.0.1:${this.#http.addr.port}/`;
  }

  /** Ports that nobody listens on. */
  freePorts(count: number): number[] {
    return Array.from({ length: count }, freePort);
  }

  /** Makes an empty database for each of some clients. Resolves to their URLs; "" where the server is missing. */
  async databases(clients: readonly ClientName[]): Promise<Settings["databases"]> {
    const urls: [ClientName, string][] = [];
    for (const client of clients) urls.push([client, await this.#database(client)]);
    return Object.fromEntries(urls);
  }

  /** Resolves to where etcd answers, which all runtimes share; "" where it is missing. */
  async etcd(): Promise<string> {
    if ("missing" in findEtcd()) return "";
    return (await (this.#etcd ??= EtcdServer.start())).url;
  }

  /** Resolves to where ZooKeeper answers, which all runtimes share; "" where it is missing. */
  async zookeeper(): Promise<string> {
    if ("missing" in findZookeeper()) return "";
    return (await (this.#zookeeper ??= ZookeeperServer.start())).address;
  }

  async #database(client: ClientName): Promise<string> {
    const kind = CLIENTS[client];
    if (kind === "sqlite" || "missing" in DATABASES[kind].find()) return "";
    if (!this.#databases.has(kind)) this.#databases.set(kind, DATABASES[kind].start());
    const { url } = await this.#databases.get(kind)!;
    const name = `runtime${this.#opened++}`;
    await using database = await OPEN[DATABASES[kind].client](url);
    await database.query(`CREATE DATABASE ${name}`);
    return url.replace(/[^/]*$/, name);
  }

  async #answer(request: Request): Promise<Response> {
    try {
      return Response.json(await this.#do(await request.json()) ?? null);
    } catch (error) {
      return new Response(error instanceof Error ? error.message : String(error), { status: 500 });
    }
  }

  async #do(operation: Operation): Promise<unknown> {
    if (operation.do === "open") {
      const server = await RedisServer.start(operation.args);
      const id = this.#opened++;
      this.#servers.set(id, server);
      return { id, port: server.port } satisfies Started;
    }
    const server = this.#servers.get(operation.id);
    if (server === undefined) throw new Error(`there is no server ${operation.id}`);
    if (operation.do === "command") return await server.command(...operation.words);
    if (operation.do === "start") return await server.start();
    if (operation.do === "kill") return await server.kill();
    if (operation.do === "leftovers") return await server.leftovers();
    if (operation.do === "front") {
      const front = new RestFront(server.port);
      this.#fronts.push(front);
      return front.options;
    }
    this.#servers.delete(operation.id);
    return await server[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#http.shutdown();
    for (const front of this.#fronts) await front.close();
    const databases = await Promise.all(this.#databases.values());
    // To be killed it would look for its processes in /proc, which the task may not read.
    for (const server of databases) if (server instanceof PostgresServer) await server.stop();
    const consensus = (await Promise.all([this.#etcd, this.#zookeeper])).flatMap((server) => server ?? []);
    const servers = [...this.#servers.values(), ...databases, ...consensus];
    await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
  }
}
