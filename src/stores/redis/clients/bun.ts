import { within } from "../../../contract/release.ts";
import { SystemClock } from "../../../time/clock.ts";
import { ANSWER_MS } from "../constants.ts";
import { isSubscribed } from "../refusals/server_error.ts";
import type { BunRedisClient } from "./client.ts";
import type { ClientState, MessageListener, SecondConnection, Subscribe } from "./port.ts";
import { WordsPort } from "./words.ts";

const CLOCK = new SystemClock();

/**
 * The `RedisClient` of Bun. A command in flight is rejected when the connection is cut. A subscription ends unseen when
 * Bun connects again, so that waiters also poll.
 */
export class BunPort extends WordsPort {
  readonly countsSubscribers = true;
  // It tells neither its URL nor its options.
  readonly user = "<user>";
  readonly address = undefined;
  readonly pollMs = 500;
  readonly #client: BunRedisClient;
  #wasConnected: boolean;
  #isClosed = false;

  /** Wraps the two callbacks of a client, and calls the former ones too. */
  constructor(client: BunRedisClient) {
    checkVersion();
    super();
    this.#client = client;
    this.#wasConnected = client.connected;
    const { onconnect, onclose } = client;
    const { connection } = this;
    client.onconnect = (...values) => {
      if (this.#wasConnected) {
        connection.cut();
        connection.down(false);
      }
      this.#wasConnected = true;
      this.#isClosed = false;
      connection.ready();
      onconnect?.apply(client, values);
    };
    client.onclose = (error) => {
      this.#isClosed = true;
      connection.down(false);
      connection.closed();
      onclose?.call(client, error);
    };
  }

  get state(): ClientState {
    if (this.#client.connected) return "ready";
    if (this.#isClosed) return "closed";
    return this.#wasConnected ? "down" : "connecting";
  }

  protected override async send(...words: readonly string[]): Promise<unknown> {
    if (this.state === "closed") throw new Error("The client is closed");
    checkMode(this.#client);
    return await super.send(...words);
  }

  protected post([command, ...words]: readonly string[]): Promise<unknown> {
    return this.#client.send(command!, words);
  }

  isReply(error: unknown): error is Error {
    return error instanceof Error && Reflect.get(error, "code") === "ERR_REDIS_SERVER_ERROR";
  }

  subscribers(): Subscribe[] {
    return [(channels, listener) => this.#subscribe(channels, listener)];
  }

  #subscribe(channels: readonly string[], listener: MessageListener): SecondConnection {
    let second: BunRedisClient | undefined;
    let isClosed = false;
    const failed = (error?: unknown) => {
      if (!isClosed) this.isReply(error) ? listener.refused(error) : listener.ended(error);
    };
    const connect = async () => {
      const client = second = await this.#client.duplicate();
      if (isClosed) return client.close();
      if (!client.connected) await client.connect();
      client.onconnect = () => failed(); // Connected again, it hears nothing.
      client.onclose = failed;
      for (const channel of channels) {
        await client.subscribe(channel, (message, from) => listener.message(from, message));
      }
    };
    within(ANSWER_MS, connect(), CLOCK).then(() => isClosed || listener.opened(), failed);
    return {
      probe: () => within(ANSWER_MS, second!.send("PING", []), CLOCK),
      close() {
        isClosed = true;
        second?.close();
      },
    };
  }
}

/**
 * Throws in a Bun before 1.4. After a cut connection, its client gives each command the reply to a later command: an
 * attempt would be granted a lock with the fence of another grant.
 */
function checkVersion(): void {
  const { version = "" } = Object(Reflect.get(globalThis, "Bun"));
  if (!/^1\.[0-3]\./.test(version)) return;
  throw new TypeError(`client must be one of Bun 1.4 or later: the RedisClient of Bun ${version} mixes up replies`);
}

/**
 * Throws if a client is subscribed to channels: it would send a command, and lose the reply. Only its methods for
 * single commands report this; the method used here sends nothing without a key.
 */
function checkMode(client: BunRedisClient): void {
  try {
    Reflect.apply(Reflect.get(client, "get"), client, []);
  } catch (error) {
    if (isSubscribed(error)) throw error;
  }
}
