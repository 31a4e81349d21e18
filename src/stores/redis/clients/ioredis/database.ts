import type { IoredisClient } from "../client.ts";
import { refusalOf } from "../../refusals/server_error.ts";
import { isReply } from "./writes.ts";

/**
 * The database of a client. When the server refuses it, ioredis (5.11, 6.0) goes on in database 0, where other locks
 * may have the same names. So the store selects it once more before the first script of each connection. For database 0
 * of a client that was never told to use another one, no command is sent.
 */
export class Database {
  readonly #client: IoredisClient;
  readonly #user: () => string;
  #number: unknown;
  #selected: boolean;
  #confirmed: boolean;
  #confirming: Promise<void> | undefined;
  /** Ends the wait for an answer that no longer counts. */
  #forgotten: (() => void) | undefined;

  /** Subscribes to the selections of a client, of which `user` returns the user. */
  constructor(client: IoredisClient, user: () => string) {
    this.#client = client;
    this.#user = user;
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

  /** Whether commands are executed in database 0 for certain: the client was never told to use another database. */
  get isDefault(): boolean {
    return !this.#selected;
  }

  /** Sends a command once the database is confirmed, and waits until it was executed there. */
  async run<T>(send: () => Promise<T>): Promise<T> {
    while (!this.#confirmed) await this.#confirm();
    const reply = await send();
    // Sent again over a new connection, the command may have been executed in another database.
    while (!this.#confirmed) await this.#confirm();
    return reply;
  }

  /** Resets the confirmation: the connection was cut. */
  forget(): void {
    this.#confirming = undefined;
    this.#confirmed = !this.#selected;
    this.#forgotten?.();
  }

  /**
   * Selects the database of the client. Rejects with a {@linkcode StoreError} when the server refuses it, and with the
   * error of the client when there is no answer. Callers proceed in the order of their calls.
   */
  #confirm(): Promise<void> {
    if (this.#confirming !== undefined) return this.#confirming;
    // Cut off before it is ready, a client forgets what it has sent: the answer never comes.
    const confirming = this.#client.status === "connect"
      ? Promise.race([this.#select(), new Promise<void>((resolve) => this.#forgotten = resolve)])
      : this.#select();
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
      throw isReply(error) ? refusalOf(database, error, this.#user()) : error;
    }
  }
}
