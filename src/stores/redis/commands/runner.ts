import { reason } from "../../../internal/reason.ts";
import { StoreError } from "../../../errors.ts";
import type { RedisClient } from "../clients/client.ts";
import type { Connection } from "../clients/connection.ts";
import { rightsFor, userOf } from "../refusals/rights.ts";
import type { Script } from "./script.ts";
import { explain, isLoginFailure, isReply } from "../refusals/server_error.ts";
import { Writes } from "../clients/ioredis/writes.ts";

/** Runs scripts on the server of a client. */
export class Runner {
  readonly #client: RedisClient;
  readonly #connection: Connection;
  readonly #prefix: string;
  readonly #writes = new Writes();

  /** Runs them over a client, whose connection is given, for locks whose keys begin with `prefix`. */
  constructor(client: RedisClient, connection: Connection, prefix: string) {
    this.#client = client;
    this.#connection = connection;
    this.#prefix = prefix;
  }

  /** Runs a script by its SHA-1; the first time on a server by its text. */
  run<T>(script: Script, keys: string[], argv: string[], decode: (reply: unknown) => T): Promise<T> {
    const { cuts, error, database } = this.#connection;
    const fail = (error: unknown): never => {
      throw this.failure(error, script, keys, cuts);
    };
    if (!database.confirmed) return database.confirm().then(() => this.run(script, keys, argv, decode), fail);
    const read = (reply: unknown): T | Promise<T> => {
      // Sent again over a new connection, the script may have been executed in another database.
      if (!database.confirmed) return database.confirm().then(() => read(reply), fail);
      if (error !== undefined) this.#connection.answered();
      return decode(reply);
    };
    this.#writes.next(this.#client.stream);
    return this.#client.evalsha(script.sha, keys.length, ...keys, ...argv).then(read, async (error) => {
      if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) return fail(error);
      if (!database.confirmed) await database.confirm().catch(fail);
      return await this.#client.eval(script.source, keys.length, ...keys, ...argv).then(read, fail);
    });
  }

  /**
   * Returns what a failed call is rejected with: a {@linkcode StoreError} when the server has answered that it did
   * nothing, or when no answer can come any more; else an error that says why the server cannot be reached.
   *
   * @param error what the client rejected with
   * @param script the script that was called
   * @param keys the keys that it was called with
   * @param cuts how often the connection had been cut before
   */
  failure(error: unknown, script: Script, keys: readonly string[], cuts: number): unknown {
    const { options, status } = this.#client;
    if (error instanceof StoreError) return error;
    if (isReply(error)) {
      // A command that was sent twice, over two connections, may have been executed the first time; not without login.
      if (cuts !== this.#connection.cuts && !isLoginFailure(error)) return error;
      const keyPrefix = String(options?.keyPrefix ?? "");
      const rights = rightsFor(userOf(this.#client), script.source, keys, this.#prefix, keyPrefix);
      const { message, permanent } = explain(error.message, rights);
      return new StoreError(message, { cause: error, permanent });
    }
    const cause = this.#connection.error;
    const words = reason(error);
    const message = cause === undefined || words.includes(cause.message) ? words : `${cause.message} (${words})`;
    if (status === "end") return new StoreError(message, { cause: cause ?? error, permanent: true });
    return message === words ? error : new Error(message, { cause });
  }
}
