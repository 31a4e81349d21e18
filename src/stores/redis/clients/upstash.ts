import { StoreError } from "../../../contract/errors.ts";
import type { UpstashClient } from "./client.ts";
import { Connection } from "./connection.ts";
import type { ClientState, RedisPort, SearchedMaster, Subscribe } from "./port.ts";
import { subscribeOver } from "./upstash/event_stream.ts";
import { isReply } from "./upstash/rest_client.ts";

/** How often waiters poll although messages seem to arrive, in milliseconds. */
const DEAF_POLL_MS = 1_000;

/**
 * A client of `upstash()`: each command is a request of its own, and so is the subscription of its waiters. Requests
 * that are sent at the same time may arrive in another order. Runtimes and proxies repeat a request whose connection is
 * closed.
 */
export class UpstashPort implements RedisPort {
  readonly connection = new Connection();
  readonly state: ClientState = "ready";
  readonly countsSubscribers = false;
  readonly pollMs = DEAF_POLL_MS;
  readonly repeats = true;
  readonly waitersOnly = true;
  readonly keyPrefix = "";
  readonly user = "default";
  readonly address: string;
  readonly optionsWarning = undefined;
  readonly isReply = isReply;
  readonly subscribers?: () => readonly Subscribe[];
  readonly #client: UpstashClient;

  /** Wraps a client. Sends nothing. */
  constructor(client: UpstashClient) {
    this.#client = client;
    this.address = new URL(client.url).host;
    const { events } = client;
    if (events !== undefined) {
      this.subscribers = () => [([channel], listener) => subscribeOver(events, channel!, listener)];
    }
  }

  evalsha(sha: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#post("EVALSHA", sha, String(keys.length), ...keys, ...args);
  }

  eval(source: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#post("EVAL", source, String(keys.length), ...keys, ...args);
  }

  masters(): SearchedMaster[] {
    const scan = (cursor: string, pattern: string, count: number) => {
      return this.#post("SCAN", cursor, "MATCH", pattern, "COUNT", String(count));
    };
    return [{ address: "", scan }];
  }

  async #post(...words: string[]): Promise<unknown> {
    try {
      return await this.#client.postCommand(...words);
    } catch (error) {
      // The command may have been run, as with a connection that is cut.
      if (!(error instanceof StoreError) && !isReply(error)) {
        this.connection.failed(error as Error);
        this.connection.cut();
      }
      throw error;
    }
  }
}
