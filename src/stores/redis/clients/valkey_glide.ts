import type { ValkeyGlideClient } from "./client.ts";
import type { ClientState, MessageListener, SecondConnection, Subscribe } from "./port.ts";
import { WordsPort } from "./words.ts";

/** The numbers in its enums for replies as bytes, channels instead of patterns, and the protocol with messages. */
const [BYTES, CHANNELS, RESP3] = [0, 0, 0] as const;

interface GlideConfig {
  readonly addresses?: readonly { readonly host: string; readonly port?: number }[];
  readonly credentials?: { readonly username?: string };
  readonly readFrom?: string;
}

/**
 * A client of valkey-glide for one server. A command in flight is rejected when the connection is cut, and not sent
 * again. A command without an answer in time may be executed later. The client reconnects unseen, and so does its
 * subscriber: messages sent meanwhile are lost, so that waiters also poll.
 */
export class ValkeyGlidePort extends WordsPort {
  // One that connects again, unseen, is not counted meanwhile.
  readonly countsSubscribers = false;
  readonly pollMs = 500;
  readonly user: string;
  readonly address: string | undefined;
  protected override readonly scan: readonly string[];
  readonly #client: ValkeyGlideClient;
  readonly #config: GlideConfig;

  /** Wraps the method `close` of a client, which has no events. */
  constructor(client: ValkeyGlideClient) {
    if ("fcallWithRoute" in client) {
      throw new TypeError("client is a GlideClusterClient: for a Cluster pass a client of node-redis or ioredis");
    }
    super();
    this.#client = client;
    const { credentials, readFrom = "primary", addresses: [first, ...more] = [] } = this.#config = Reflect.get(
      client,
      "config",
    ) as GlideConfig;
    this.user = credentials?.username ?? "default";
    this.address = first === undefined || more.length > 0 ? undefined : `${first.host}:${first.port ?? 6379}`;
    // A command that only reads may go to a replica, and the next one to another; a script goes to the primary.
    this.scan = readFrom === "primary" ? ["SCAN"] : ["EVAL", "return redis.call('SCAN', unpack(ARGV))", "0"];
    const { close } = client;
    // It rejects the commands without an answer with this message; without one, with an empty one.
    client.close = (message = "The client is closed") => {
      close.call(client, message);
      this.connection.closed();
    };
  }

  get state(): ClientState {
    return Reflect.get(this.#client, "isClosed") === true ? "closed" : "ready";
  }

  protected async post(words: readonly string[]): Promise<unknown> {
    try {
      return await this.#client.customCommand([...words], { decoder: BYTES });
    } catch (error) {
      throw replyIn(error) ?? error;
    }
  }

  isReply(error: unknown): error is Error {
    return error instanceof GlideReplyError;
  }

  subscribers(): Subscribe[] {
    return [(channels, listener) => this.#subscribe(channels, listener)];
  }

  #subscribe(channels: readonly string[], listener: MessageListener): SecondConnection {
    let second: ValkeyGlideClient | undefined;
    let isClosed = false;
    const callback = ({ channel, message }: Record<string, unknown>) => listener.message(`${channel}`, `${message}`);
    const opened = (client: ValkeyGlideClient) => {
      second = client;
      if (isClosed) return client.close();
      Reflect.get(client, "socket")?.unref?.();
      listener.opened();
    };
    const pubsubSubscriptions = { channelsAndPatterns: { [CHANNELS]: new Set(channels) }, callback };
    const own = { defaultDecoder: BYTES, lazyConnect: false, protocol: RESP3 };
    const options = { ...this.#config, ...own, pubsubSubscriptions };
    const { constructor } = this.#client;
    const make = Reflect.get(constructor, "createClient") as (options: object) => Promise<ValkeyGlideClient>;
    // It fails after a time-out when the server does not allow that.
    make.call(constructor, options).then(opened, (error) => listener.ended(error));
    return {
      probe: () => second!.customCommand(["PING"], { decoder: BYTES }),
      close() {
        isClosed = true;
        second?.close();
      },
    };
  }
}

/** A reply of the server in its own words, or an error of a client that has sent nothing. */
class GlideReplyError extends Error {}

/** The beginning of such errors: a code or, where valkey-glide knows the code, a name; unsent commands end alike. */
const REPLY = /^(?:An error was [^-]+- (\w+?)(?:Error)?|([A-Z]+)):(?= )|- (?:ClientError|ReadOnly)$/;

/** The codes of the names that are not the code in mixed case. */
const CODES: Readonly<Record<string, string>> = { Response: "ERR", BusyLoading: "LOADING", PermissionDenied: "NOPERM" };

/** Returns the reply that an error contains. */
function replyIn(cause: unknown): GlideReplyError | undefined {
  const { message } = cause as Error;
  if (!REPLY.test(message)) return undefined;
  const codeOf = (found: string, name = "", code = CODES[name] ?? name.toUpperCase()) => code || found;
  return new GlideReplyError(message.replace(REPLY, codeOf), { cause });
}
