import { within } from "../../../../contract/release.ts";
import { SystemClock } from "../../../../time/clock.ts";
import { ANSWER_MS } from "../../constants.ts";
import type { MessageListener, SecondConnection } from "../port.ts";
import { isReply } from "./repairs.ts";

const CLOCK = new SystemClock();

/** The options of a client of one server that a second connection changes. */
export interface NodeRedisOptions {
  readonly username?: string | undefined;
  readonly database?: number | undefined;
  readonly disableOfflineQueue?: boolean | undefined;
  readonly socket?: {
    readonly host?: string | undefined;
    readonly port?: number | undefined;
    readonly path?: string | undefined;
    readonly socketTimeout?: number | undefined;
    readonly reconnectStrategy?: unknown;
  } | undefined;
}

/** The part of a client of one server that a second connection needs. */
export interface PlainNodeRedis {
  readonly options?: NodeRedisOptions | undefined;
  /** Creates a second client with the same options. It must be connected. */
  duplicate(overrides: object): PlainNodeRedis;
  connect(): Promise<unknown>;
  subscribe(channels: string[], listener: (message: string, channel: string) => void): Promise<unknown>;
  ping(): Promise<unknown>;
  destroy(): void;
  unref(): void;
  on(event: string, listener: (error?: Error) => void): unknown;
}

/** Creates a second client, which never reconnects by itself. */
export function duplicate(client: PlainNodeRedis): PlainNodeRedis {
  const socket = {
    ...client.options?.socket,
    connectTimeout: ANSWER_MS,
    reconnectStrategy: false,
    // It would end a connection on which no message comes.
    socketTimeout: undefined,
  };
  return client.duplicate({
    clientSideCache: undefined,
    disableOfflineQueue: false,
    emitInvalidate: false,
    keyPrefix: undefined,
    maintNotifications: "disabled",
    pingInterval: undefined,
    readonly: false,
    socket,
    // What it says is in the options.
    url: undefined,
  });
}

/** Connects a second client, and subscribes. */
export function subscribeOver(
  make: () => Promise<PlainNodeRedis>,
  channels: readonly string[],
  listener: MessageListener,
): SecondConnection {
  let client: PlainNodeRedis | undefined;
  // Before it is connected it cannot be destroyed: it would connect all the same.
  let isConnected = false;
  let isClosed = false;
  const failed = (error?: unknown) => {
    if (!isClosed) isReply(error) ? listener.refused(error) : listener.ended(error);
  };
  const connect = async () => {
    client = await make();
    if (isClosed) return;
    client.on("error", failed);
    client.on("end", () => failed());
    client.on("connect", () => {
      isConnected = true;
      if (isClosed) destroy(client!);
    });
    client.unref();
    await client.connect();
    await client.subscribe([...channels], (message, channel) => listener.message(channel, message));
  };
  within(ANSWER_MS, connect(), CLOCK).then(() => isClosed || listener.opened(), failed);
  return {
    probe: () => within(ANSWER_MS, client!.ping(), CLOCK),
    close() {
      isClosed = true;
      if (isConnected) destroy(client!);
    },
  };
}

function destroy(client: PlainNodeRedis): void {
  try {
    client.destroy();
  } catch {
    // Version 5 throws when the client has ended by itself.
  }
}
