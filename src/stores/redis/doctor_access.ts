import type { RedisClient } from "./clients/client.ts";
import { KeySpace } from "./keys/key_space.ts";
import { DEFAULT_PREFIX } from "./options.ts";
import { rightsOf, userOf } from "./refusals/rights.ts";
import { explain, isReply } from "./refusals/server_error.ts";
import { secondConnections } from "./clients/ioredis/second_connections.ts";

/** A client to examine, which sends every command by its words. */
export interface ExaminedClient extends RedisClient {
  /** Sends a command. */
  call(command: string, ...args: string[]): Promise<unknown>;
}

/** Explains an error of the server as the store does; `undefined` if the error is no reply. */
export function refusal(client: RedisClient, error: unknown): string | undefined {
  return isReply(error) ? explain(error.message, rightsOf(userOf(client))).message : undefined;
}

/** Deletes all that a server keeps of a lock. */
export async function deleteLock(client: ExaminedClient, name: string, prefix = DEFAULT_PREFIX): Promise<void> {
  await client.call("DEL", ...new KeySpace(client, prefix).keysOf(name));
}

/**
 * Sends a message to a channel of the wake-ups and receives it over a second connection, as stores do. The result ends
 * the connection and, if there is no message yet, the wait.
 */
export function sendMessage(client: ExaminedClient): { received: Promise<void>; close(): void } {
  const subscriber = secondConnections(client)[0]?.();
  if (subscriber === undefined) return { received: Promise.reject(new Error("the client knows no node")), close() {} };
  const channel = `holdfast:doctor:${crypto.randomUUID()}`;
  subscriber.on("error", () => {}); // The subscription is rejected.
  const message = new Promise<void>((resolve) => void subscriber.on("message", () => resolve()));
  const sent = subscriber.subscribe(channel).then(() => client.call("PUBLISH", channel, ""));
  return {
    received: sent.then(() => message),
    close: () => {
      if ((subscriber.status ?? "end") !== "end") subscriber.disconnect();
    },
  };
}
