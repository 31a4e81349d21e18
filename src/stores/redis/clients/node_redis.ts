import type { NodeRedisClient, NodeRedisScriptOptions } from "./client.ts";
import { Connection } from "./connection.ts";
import { catchListeners, isReply } from "./node_redis/repairs.ts";
import { deploymentOf, type NodeRedisDeployment } from "./node_redis/deployment.ts";
import { SelectedDatabase } from "./node_redis/selected_database.ts";
import { subscribeOver } from "./node_redis/second_connection.ts";
import type { ClientState, EvalAndWait, RedisPort, SearchedMaster, Subscribe } from "./port.ts";

/**
 * A client of node-redis 5 or 6: of one server, a pool, of a Cluster or of Sentinels. A command that was sent is
 * rejected when the connection is cut, but a client of Sentinels resends it. A command that was not sent yet is sent
 * over the next connection.
 */
export class NodeRedisPort implements RedisPort {
  readonly connection = new Connection();
  readonly isReply = isReply;
  readonly #client: NodeRedisClient;
  readonly #deployment: NodeRedisDeployment;
  readonly #database: SelectedDatabase;
  #wasReady = false;

  constructor(client: NodeRedisClient) {
    this.#client = client;
    this.#deployment = deploymentOf(client);
    this.#database = new SelectedDatabase(client, this.connection, this.#deployment.database ?? 0);
    this.#wasReady = this.state === "ready";
    catchListeners(client);
    const { connection } = this;
    const closed = () => {
      connection.down(false);
      connection.closed();
      this.#database.closed(new Error("The client is closed"));
    };
    client.on("error", (error: Error) => {
      // node-redis throws an error without a listener. This one must not hide it from a user who has added none.
      if (client.listenerCount("error") === 1) console.error("[node-redis] Unhandled error event:", error.stack);
      this.#failed(error);
      if (isReply(error)) this.#database.refused(error, this.user);
      if (!client.isOpen) closed(); // It has given up.
    });
    client.on("ready", () => {
      this.#wasReady = true;
      connection.ready();
      this.#database.ready();
    });
    this.#deployment.watch?.({
      cut: (error) => {
        connection.failedAt(error);
        connection.failed(error);
        connection.cut();
      },
      moved: () => {
        // It sends again, to the next master, what this one has not answered.
        if (this.state !== "connecting") connection.cut();
        connection.down(false);
      },
    });
    onClosed(client, this.#deployment.closeEvent, closed);
  }

  #failed(error: Error): void {
    const { connection } = this;
    connection.failed(error);
    // A pool does not say whether one of its connections was cut, or could not be made.
    if (this.#deployment.isSilent) return connection.cut();
    if (!this.#wasReady || this.state === "ready") return;
    this.#wasReady = false;
    connection.cut();
    connection.down();
  }

  get state(): ClientState {
    const { isOpen, isClosing = false, isReady = isOpen } = this.#client;
    if (!isOpen || isClosing) return "closed";
    if (isReady) return "ready";
    return this.#wasReady || this.connection.cuts > 0 ? "down" : "connecting";
  }

  get countsSubscribers(): boolean {
    return !this.#deployment.isCluster;
  }

  get followsSlots(): boolean {
    return this.#deployment.isCluster === true;
  }

  get keyPrefix(): string {
    return String(Reflect.get(this.#client, "_keyPrefix") ?? "");
  }

  get user(): string {
    const { options } = this.#deployment;
    // A pool and a client of Sentinels do not tell their options.
    return options === undefined ? "<user>" : options.username ?? "default";
  }

  get address(): string | undefined {
    return this.#deployment.address;
  }

  get optionsWarning(): string | undefined {
    const faults: string[] = [];
    const { timeout } = Object(Reflect.get(this.#client, "_commandOptions"));
    const { options, isCluster } = this.#deployment;
    if (options !== undefined && !timeout && !options.disableOfflineQueue) {
      faults.push("without commandOptions.timeout what is asked of a server that is down never fails");
    }
    const { socketTimeout, reconnectStrategy } = options?.socket ?? {};
    if (isCluster && !socketTimeout) {
      faults.push("without defaults.socket.socketTimeout a node that hangs is never left for the one that replaces it");
    }
    if (socketTimeout && reconnectStrategy === undefined) {
      faults.push("with socketTimeout and without reconnectStrategy a connection that is idle so long ends for good");
    }
    return faults.length === 0 ? undefined : `The options of the Redis client hide failures: ${faults.join("; ")}`;
  }

  evalsha(sha: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#send(keys, args, (options) => this.#client.evalSha(sha, options));
  }

  eval(source: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#send(keys, args, (options) => this.#client.eval(source, options));
  }

  readonly evalAndWait: EvalAndWait = (script, keys, args, min, timeout) =>
    this.#send(keys, args, async (options) => {
      const commands = (this.#client as unknown as NodeRedisCommands).multi();
      const both = "sha" in script ? commands.evalSha(script.sha, options) : commands.eval(script.source, options);
      return await both.wait(min, timeout).execAsPipeline() as [unknown, unknown];
    });

  /** Sends a script with these keys and arguments. */
  #send<T>(keys: readonly string[], args: readonly string[], send: (options: NodeRedisScriptOptions) => Promise<T>) {
    if (!this.#client.isOpen) {
      return Promise.reject(new Error("The client is closed; one of node-redis needs connect() before it is used"));
    }
    return this.#database.run(() => send({ keys: keys as string[], arguments: args as string[] }));
  }

  masters(): SearchedMaster[] {
    return this.#deployment.masters.map(({ address, send }) => ({
      address,
      scan: (cursor, pattern, count) => {
        return this.#database.run(() => send(["SCAN", cursor, "MATCH", pattern, "COUNT", String(count)]));
      },
    }));
  }

  subscribers(): Subscribe[] {
    return this.#deployment.duplicates().map((duplicate) => (channels, listener) =>
      subscribeOver(duplicate, channels, listener)
    );
  }
}

interface NodeRedisCommands {
  multi(): NodeRedisCommands;
  evalSha(sha: string, options: NodeRedisScriptOptions): NodeRedisCommands;
  eval(script: string, options: NodeRedisScriptOptions): NodeRedisCommands;
  wait(replicas: number, timeout: number): NodeRedisCommands;
  execAsPipeline(): Promise<unknown>;
}

/** Calls the listener when a client is closed: at its event or, without an event, when a method is called. */
function onClosed(client: NodeRedisClient, event: string | undefined, listener: () => void): void {
  if (event !== undefined) return void client.on(event, listener);
  for (const name of ["close", "destroy"]) {
    const close: unknown = Reflect.get(client, name);
    if (typeof close !== "function") continue;
    const reported = (...args: unknown[]): unknown => {
      const done: unknown = Reflect.apply(close, client, args);
      listener();
      return done;
    };
    Reflect.set(client, name, reported);
  }
}
