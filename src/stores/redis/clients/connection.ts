import { reason } from "../../../internal/reason.ts";
import type { RedisClient, RedisNode } from "./client.ts";
import { Database } from "./ioredis/database.ts";
import { catchAsking } from "./ioredis/catch_asking.ts";

/** The connection of a client: how often it was cut, and why it is down. */
export class Connection {
  /** The database of the client. */
  readonly database: Database;
  #cuts = 0;
  #error: Error | undefined;
  /** The last error of a single Sentinel or Cluster node; the client itself says only that all have failed. */
  #detail: Error | undefined;

  /** Subscribes to the events of a client. */
  constructor(client: RedisClient) {
    this.database = new Database(client);
    const count = () => void this.#cuts++;
    client.on("error", (error) => {
      // ioredis prints an error while it has no listener. This one must not hide it from a user who has added none.
      if (client.listenerCount?.("error") === 1) console.error("[ioredis] Unhandled error event:", error.stack);
      this.#error = readable(error, this.#detail);
    });
    client.on("ready", () => this.answered());
    client.on("close", () => {
      // A client that was closed for good has not failed.
      if (client.status !== "end") this.#error ??= new Error("the server has closed the connection");
    });
    client.on("sentinelError", (error) => this.#detail = error);
    if (client.isCluster) {
      client.on("node error", (error, address) => {
        this.#error = this.#detail = new Error(`node ${address}: ${error.message}`, { cause: error });
      });
      // A Cluster client loses its nodes one by one, and sends again the commands that they have not answered.
      const adopt = (node: RedisNode) => {
        node.on("close", count);
        catchAsking(node);
      };
      client.on("+node", adopt);
      for (const node of client.nodes?.() ?? []) adopt(node);
    } else {
      client.on("close", () => {
        count();
        this.database.forget();
      });
    }
  }

  /** How often a connection of the client was cut. A client silently sends again the commands without an answer. */
  get cuts(): number {
    return this.#cuts;
  }

  /** Why the server cannot be reached: the last error since the connection was up, `undefined` while it is. */
  get error(): Error | undefined {
    return this.#error;
  }

  /** Forgets the last error: the server has answered. A Cluster client has no event for a node that is back. */
  answered(): void {
    this.#error = this.#detail = undefined;
  }
}

/** The errors that only say that all Sentinels, or all nodes of a Cluster, have failed. */
const ALL_FAILED = /^(?:All sentinels are unreachable|Failed to refresh slots cache)/;

/** Returns the error, or one whose message says what else is known. */
function readable(error: Error, detail: Error | undefined): Error {
  const { errors, code } = error as { errors?: unknown; code?: unknown };
  // On Node, for a host with several addresses: one error for each address, and no message.
  if (error.message === "" && Array.isArray(errors)) {
    return new Error(errors.map(reason).join("; "), { cause: error });
  }
  if (detail !== undefined && ALL_FAILED.test(error.message)) {
    return new Error(`${detail.message} (${error.message})`, { cause: detail });
  }
  // Not all runtimes have the code in the message, and the errors of TLS have not.
  if (typeof code !== "string" || error.message.includes(code)) return error;
  return new Error(`${error.message} (${code})`, { cause: error });
}
