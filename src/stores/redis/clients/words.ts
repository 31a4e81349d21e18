import { StoreError } from "../../../contract/errors.ts";
import { Connection } from "./connection.ts";
import type { ClientState, RedisPort, SearchedMaster } from "./port.ts";

/** A client of one server that sends each command by its words, and has no methods or options for more. */
export abstract class WordsPort implements RedisPort {
  readonly connection = new Connection();
  readonly keyPrefix = "";
  readonly optionsWarning = undefined;
  abstract readonly state: ClientState;
  abstract readonly countsSubscribers: boolean;
  abstract readonly user: string;
  abstract readonly address: string | undefined;
  /** The words before the cursor of SCAN. */
  protected readonly scan: readonly string[] = ["SCAN"];

  abstract isReply(error: unknown): error is Error;

  /** Sends a command over the client. */
  protected abstract post(words: readonly string[]): Promise<unknown>;

  /** Sends a command. Without a reply it may have been executed, as when a connection is cut. */
  protected async send(...words: readonly string[]): Promise<unknown> {
    try {
      return await this.post(words);
    } catch (error) {
      // A `StoreError` says that nothing was done.
      if (!(error instanceof StoreError) && !this.isReply(error)) {
        this.connection.cut();
        if (error instanceof Error) this.connection.failed(error);
      }
      throw error;
    }
  }

  evalsha(sha: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.send("EVALSHA", sha, `${keys.length}`, ...keys, ...args);
  }

  eval(source: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.send("EVAL", source, `${keys.length}`, ...keys, ...args);
  }

  masters(): SearchedMaster[] {
    return [{
      address: "",
      scan: (cursor, pattern, count) => this.send(...this.scan, cursor, "MATCH", pattern, "COUNT", `${count}`),
    }];
  }
}
