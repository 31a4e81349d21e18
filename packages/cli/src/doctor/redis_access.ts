import type { IoredisClient, RedisSubscriber } from "@holdfast/lock/redis";
import type { UpstashClient } from "@holdfast/lock/upstash";

/** A client to examine, which sends every command by its words. */
export interface ExaminedClient extends IoredisClient {
  /** Sends a command. */
  call(command: string, ...args: string[]): Promise<unknown>;
}

/** A client of either kind that can be examined. */
export type ExaminableClient = ExaminedClient | UpstashClient;

/** The channels of the wake-ups, in the words of `ACL SETUSER`. */
const CHANNELS = "&holdfast:*";

/**
 * Returns the refusal in the error of a server, with the ACL rule that grants the right; `undefined` if the error is no
 * reply.
 */
export function refusal(client: ExaminableClient, error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== "ReplyError") return undefined;
  const { message } = error;
  if (!message.startsWith("NOPERM")) return message;
  const [, command] = /run the '([^'| ]+)/.exec(message) ?? [];
  const rule = command === undefined ? CHANNELS : command === "subscribe" ? `+subscribe ${CHANNELS}` : `+${command}`;
  const right = command === undefined ? "use the channels of the wake-ups" : `run ${command}`;
  const user = userOf(client);
  return `the user ${JSON.stringify(user)} may not ${right}; "ACL SETUSER ${user} ${rule}" grants it: ${message}`;
}

function userOf(client: ExaminableClient): string {
  if ("postCommand" in client) return "default";
  const { options, isCluster } = client;
  const { username } = isCluster ? Object(options?.redisOptions) : options ?? {};
  return typeof username === "string" && username !== "" ? username : "default";
}

/** Deletes all that a server keeps of a lock. */
export async function deleteLock(client: ExaminableClient, name: string, prefix?: string): Promise<void> {
  const { keysOf } = await import("@holdfast/lock/redis");
  await send(client, "DEL", ...keysOf(client, name, prefix === undefined ? {} : { prefix }));
}

/**
 * Sends a message to a channel and receives it in the way in which stores receive their wake-ups. The result ends the
 * reception and, if there is no message yet, the wait.
 */
export function sendMessage(client: ExaminableClient): { received: Promise<void>; close(): void } {
  const channel = `holdfast:doctor:${crypto.randomUUID()}`;
  const publish = () => send(client, "PUBLISH", channel, "");
  return "postCommand" in client ? overEvents(client, channel, publish) : overConnection(client, channel, publish);
}

/** Receives the message over an event stream. */
function overEvents(client: UpstashClient, channel: string, publish: () => Promise<unknown>) {
  const closing = new AbortController();
  const read = async () => {
    for await (const line of client.events!(channel, closing.signal)) {
      if (line.startsWith("data: subscribe,")) await publish();
      if (line.startsWith("data: message,")) return;
    }
    throw new Error("the event stream has ended");
  };
  return { received: read(), close: () => closing.abort() };
}

/** Receives the message over a second connection. */
function overConnection(client: ExaminedClient, channel: string, publish: () => Promise<unknown>) {
  let connection: RedisSubscriber | undefined;
  const received = new Promise<void>((resolve, reject) => {
    const nodes = client.isCluster ? client.nodes?.() ?? [] : [client];
    const node = nodes.find(({ status }) => status === "ready") ?? nodes[0];
    if (node === undefined) return reject(new Error("the client knows no node"));
    const retry = () => null;
    const overrides = {
      failoverDetector: false,
      keyPrefix: "",
      lazyConnect: false,
      maxRetriesPerRequest: null,
      retryStrategy: retry,
      sentinelRetryStrategy: retry,
    };
    // The contract leaves the arguments open.
    connection = (node.duplicate.bind(node) as (overrides: unknown) => RedisSubscriber)(overrides);
    connection.on("error", () => {}); // The event "end" follows.
    connection.on("connect", () => connection!.stream?.unref?.());
    connection.on("ready", () => void connection!.subscribe(channel).then(publish).catch(reject));
    connection.on("message", () => resolve());
    connection.on("end", () => reject(new Error("the server has closed the connection")));
  });
  const close = () => {
    // ioredis's disconnect() leaves a timer when there is no connection.
    if ((connection?.status ?? "end") !== "end") connection!.disconnect();
  };
  return { received, close };
}

function send(client: ExaminableClient, command: string, ...args: string[]): Promise<unknown> {
  return "postCommand" in client ? client.postCommand(command, ...args) : client.call(command, ...args);
}
