import { SystemClock } from "../../../../time/clock.ts";
import { NO_DATABASE, refusalOf } from "../../refusals/server_error.ts";
import type { NodeRedisClient } from "../client.ts";
import type { Connection } from "../connection.ts";

const CLOCK = new SystemClock();

/**
 * Holds commands back until a client is connected, unless it uses database 0. node-redis (5.12, 6.3) sends the waiting
 * commands together with SELECT. If the server refused SELECT, it would execute them in database 0, where other locks
 * may have the same names.
 */
export class SelectedDatabase {
  readonly #client: NodeRedisClient;
  readonly #connection: Connection;
  readonly #number: number;
  readonly #waiting = new Set<(error?: Error) => void>();

  /** Wraps a client without subscribing: the file of the client reports its events. */
  constructor(client: NodeRedisClient, connection: Connection, number: number) {
    this.#client = client;
    this.#connection = connection;
    this.#number = number;
  }

  /** Sends a command over a connection that uses the database. */
  run<T>(send: () => Promise<T>): Promise<T> {
    return this.#number === 0 ? send() : this.#sendConnected(send);
  }

  ready(): void {
    for (const settle of this.#waiting) settle();
  }

  /** Reports the server's refusal of a connection. */
  refused(reply: Error, user: string): void {
    const isAboutIt = NO_DATABASE.test(reply.message) || reply.message.includes("'select'");
    this.closed(isAboutIt ? refusalOf(this.#number, reply, user) : reply);
  }

  /** Reports that there will be no connection. */
  closed(error: Error): void {
    for (const settle of this.#waiting) settle(error);
  }

  async #sendConnected<T>(send: () => Promise<T>): Promise<T> {
    while (!this.#client.isReady) await this.#connected();
    const { cuts } = this.#connection;
    const reply = await send();
    if (cuts !== this.#connection.cuts) throw new Error("the connection was cut before the command was sent");
    return reply;
  }

  #connected(): Promise<void> {
    const { timeout } = Object(Reflect.get(this.#client, "_commandOptions"));
    return new Promise((resolve, reject) => {
      const settle = (error?: Error) => {
        timer?.cancel();
        this.#waiting.delete(settle);
        error === undefined ? resolve() : reject(error);
      };
      const late = () => settle(new Error(`the client was not connected within ${timeout} ms`));
      const timer = timeout ? CLOCK.timer(timeout, late) : undefined;
      this.#waiting.add(settle);
    });
  }
}
