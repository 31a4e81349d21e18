import type { UpstashClient } from "./client.ts";
import type { ClientState, Subscribe } from "./port.ts";
import { subscribeOver } from "./upstash/event_stream.ts";
import { isReply } from "./upstash/rest_client.ts";
import { WordsPort } from "./words.ts";

/**
 * A client of `upstash()`: each command is a request of its own, and so is the subscription of its waiters. Requests
 * that are sent at the same time may arrive in another order. Runtimes and proxies repeat a request whose connection is
 * closed.
 */
export class UpstashPort extends WordsPort {
  readonly state: ClientState = "ready";
  readonly countsSubscribers = false;
  readonly pollMs = 1_000;
  readonly repeats = true;
  readonly waitersOnly = true;
  readonly user = "default";
  readonly address: string;
  readonly subscribers?: () => readonly Subscribe[];
  readonly #client: UpstashClient;

  constructor(client: UpstashClient) {
    super();
    this.#client = client;
    this.address = new URL(client.url).host;
    const { events } = client;
    if (events !== undefined) {
      this.subscribers = () => [([channel], listener) => subscribeOver(events, channel!, listener)];
    }
  }

  isReply(error: unknown): error is Error {
    return isReply(error);
  }

  protected post(words: readonly string[]): Promise<unknown> {
    return this.#client.postCommand(...words);
  }
}
