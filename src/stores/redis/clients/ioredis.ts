import type { IoredisClient, RedisNode } from "./client.ts";
import { Connection } from "./connection.ts";
import { catchAsking, rejectUnanswered, renewSubscriptions } from "./ioredis/repairs.ts";
import { clientWarning } from "./ioredis/client_warning.ts";
import { Database } from "./ioredis/database.ts";
import { isReply, Writes } from "./ioredis/writes.ts";
import { secondConnections, subscribeOver } from "./ioredis/second_connections.ts";
import type { ClientState, EvalAndWait, RedisPort, SearchedMaster, Subscribe } from "./port.ts";

/** The states of a client that is making a connection; between two tries it is in another. */
const CONNECTING: readonly string[] = ["wait", "connecting", "connect"];

/** A client of ioredis 5 or 6 or of iovalkey. It resends commands without an answer over its next connection. */
export class IoredisPort implements RedisPort {
  readonly connection = new Connection();
  readonly #client: IoredisClient;
  readonly #database: Database;
  readonly #writes = new Writes();

  constructor(client: IoredisClient) {
    this.#client = client;
    this.#database = new Database(client, () => this.user);
    const { connection } = this;
    client.on("error", (error) => {
      // ioredis prints an error while it has no listener. This one must not hide it from a user who has added none.
      if (client.listenerCount?.("error") === 1) console.error("[ioredis] Unhandled error event:", error.stack);
      connection.failed(error);
    });
    client.on("ready", () => connection.ready());
    client.on("sentinelError", (error) => connection.failedAt(error));
    if (client.isCluster) this.#watchNodes();
    client.on("close", () => {
      if (!client.isCluster) {
        connection.cut();
        this.#database.forget();
        if (client.options?.autoResendUnfulfilledCommands === false) rejectUnanswered(client);
        else renewSubscriptions(client);
      }
      // A client that was closed for good has not failed.
      connection.down(client.status !== "end");
    });
    client.on("end", () => {
      rejectUnanswered(client);
      connection.closed();
    });
  }

  /** Counts the cuts of a Cluster's nodes: the client loses them one by one, and resends their unanswered commands. */
  #watchNodes(): void {
    const client = this.#client;
    const { connection } = this;
    client.on("node error", (cause, address) => {
      const error = new Error(`node ${address}: ${cause.message}`, { cause });
      connection.failedAt(error);
      connection.failed(error);
    });
    const adopt = (node: RedisNode) => {
      node.on("close", () => connection.cut());
      catchAsking(node);
    };
    client.on("+node", adopt);
    for (const node of client.nodes?.() ?? []) adopt(node);
  }

  get state(): ClientState {
    const { status = "ready" } = this.#client;
    if (status === "ready") return "ready";
    if (status === "end") return "closed";
    return CONNECTING.includes(status) ? "connecting" : "down";
  }

  get countsSubscribers(): boolean {
    return !this.#client.isCluster;
  }

  get followsSlots(): boolean {
    return this.#client.isCluster === true;
  }

  get keyPrefix(): string {
    return String(this.#client.options?.keyPrefix ?? "");
  }

  get user(): string {
    const { options, isCluster } = this.#client;
    const { username } = isCluster ? Object(options?.redisOptions) : options ?? {};
    return typeof username === "string" && username !== "" ? username : "default";
  }

  get address(): string | undefined {
    return addressOf(this.#client);
  }

  get optionsWarning(): string | undefined {
    return clientWarning(this.#client);
  }

  /** Runs a script by its SHA-1, once the database is `confirmed`. */
  evalsha(
    sha: string,
    keys: readonly string[],
    args: readonly string[],
    confirmed: boolean = this.#database.isDefault,
  ): Promise<unknown> {
    if (!confirmed) return this.#database.run(() => this.evalsha(sha, keys, args, true));
    this.#writes.next(this.#client.stream);
    return this.#client.evalsha(sha, keys.length, ...keys, ...args);
  }

  eval(source: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#database.run(() => this.#client.eval(source, keys.length, ...keys, ...args));
  }

  readonly evalAndWait: EvalAndWait = (script, keys, args, min, timeout) =>
    this.#database.run(async () => {
      const pipeline = this.#client.pipeline!();
      if ("sha" in script) pipeline.evalsha(script.sha, keys.length, ...keys, ...args);
      else pipeline.eval(script.source, keys.length, ...keys, ...args);
      pipeline.wait(min, timeout);
      const [[error, reply], [failure, replicas]] = await pipeline.exec() as [[unknown, unknown], [unknown, unknown]];
      if (error ?? failure) throw error ?? failure;
      return [reply, replicas];
    });

  readonly isReply = isReply;

  masters(): SearchedMaster[] {
    const client = this.#client;
    const nodes = client.isCluster ? client.nodes?.("master") : undefined;
    if (nodes === undefined) return [this.#searched("", client)];
    return nodes.map((node, i) => this.#searched(addressOf(node) ?? `${i}`, node));
  }

  #searched(address: string, node: Pick<IoredisClient, "scan">): SearchedMaster {
    if (node.scan === undefined) throw new TypeError("client must have the method scan for a query");
    return {
      address,
      scan: (cursor, pattern, count) => this.#database.run(() => node.scan!(cursor, "MATCH", pattern, "COUNT", count)),
    };
  }

  subscribers(): Subscribe[] {
    return secondConnections(this.#client).map((connect) => (channels, listener) =>
      subscribeOver(connect(), channels, listener)
    );
  }
}

function addressOf({ options }: Pick<RedisNode, "options">): string | undefined {
  const { host, port } = options ?? {};
  return host === undefined || port === undefined ? undefined : `${host}:${port}`;
}
