import { StoreError } from "../../errors.ts";
import type { RedisClient } from "./client.ts";
import { refusal } from "./refusal.ts";
import type { Script } from "./scripts.ts";
import { Writes } from "./writes.ts";

/** Runs scripts on the server of a client. */
export class Runner {
  readonly #client: RedisClient;
  readonly #connection: { readonly cuts: number };
  readonly #writes = new Writes();

  /** `connection` counts how often the client was cut off. */
  constructor(client: RedisClient, connection: { readonly cuts: number }) {
    this.#client = client;
    this.#connection = connection;
  }

  /** Runs a script by its SHA-1; the first time on a server by its text. */
  run<T>(script: Script, keys: string[], argv: string[], decode: (reply: unknown) => T): Promise<T> {
    const { cuts } = this.#connection;
    // What the server has answered is an outcome: it did not do it. Unless it was asked twice, over two connections.
    const failure = (error: unknown) => {
      if (!(error instanceof Error) || error.name !== "ReplyError" || cuts !== this.#connection.cuts) return error;
      return new StoreError(refusal(error.message), { cause: error });
    };
    this.#writes.next(this.#client.stream);
    return this.#client.evalsha(script.sha, keys.length, ...keys, ...argv).then(decode, async (error) => {
      if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw failure(error);
      return await this.#client.eval(script.source, keys.length, ...keys, ...argv).then(decode, (error) => {
        throw failure(error);
      });
    });
  }
}
