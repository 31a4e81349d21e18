import { StoreError } from "../../../../errors.ts";
import type { RedisClient } from "../client.ts";
import { rightsOf, userOf } from "../../refusals/rights.ts";
import { explain, isReply } from "../../refusals/server_error.ts";

/** How a server says that it does not have a database, and that a node of a Cluster has only one. */
const NO_DATABASE = /DB index|out of range|in cluster mode/i;

/**
 * The database of a client. When the server refuses it, ioredis (5.11, 6.0) goes on in database 0, where other locks may
 * have the same names. So the store selects it once more before the first script of each connection. For database 0 of
 * a client that was never told to use another one, no command is sent.
 */
export class Database {
  readonly #client: RedisClient;
  #number: unknown;
  #selected: boolean;
  #confirmed: boolean;
  #confirming: Promise<void> | undefined;

  /** Subscribes to the selections of a client. */
  constructor(client: RedisClient) {
    this.#client = client;
    // `condition` knows what select() has been called with before.
    this.#number = Object(Reflect.get(client, "condition")).select ?? client.options?.db ?? 0;
    this.#selected = this.#number !== 0 && !client.isCluster && client.select !== undefined;
    this.#confirmed = !this.#selected;
    if (client.isCluster) return;
    client.on("select", (database) => {
      this.#number = database;
      this.#selected = true;
      this.forget();
    });
  }

  /** Whether commands are executed in the database that the client was told to use. */
  get confirmed(): boolean {
    return this.#confirmed;
  }

  /** Forgets what was confirmed: the connection was cut. */
  forget(): void {
    this.#confirming = undefined;
    this.#confirmed = !this.#selected;
  }

  /**
   * Selects the database of the client. Rejects with a {@linkcode StoreError} when the server refuses it, and with the
   * error of the client when there is no answer. Callers proceed in the order of their calls.
   */
  confirm(): Promise<void> {
    if (this.#confirming !== undefined) return this.#confirming;
    const confirming = this.#select();
    const settle = (confirmed: boolean) => {
      // Unless the connection was replaced meanwhile, or another database selected.
      if (this.#confirming !== confirming) return;
      this.#confirming = undefined;
      this.#confirmed = confirmed;
    };
    confirming.then(() => settle(true), () => settle(false));
    return this.#confirming = confirming;
  }

  async #select(): Promise<void> {
    const database = this.#number;
    try {
      await this.#client.select!(database as number);
    } catch (error) {
      throw isReply(error) ? this.#refusal(database, error) : error;
    }
  }

  #refusal(database: unknown, error: Error): StoreError {
    const { message, permanent } = explain(error.message, rightsOf(userOf(this.#client)));
    return new StoreError(`the server refuses database ${database}: ${message}`, {
      cause: error,
      permanent: permanent || NO_DATABASE.test(message),
    });
  }
}
