import type { IoredisClient, UpstashClient } from "./clients/client.ts";
import type { SecondConnection } from "./clients/port.ts";
import { KeySpace } from "./keys/key_space.ts";
import { DEFAULT_PREFIX } from "./options.ts";
import { rightsOf } from "./refusals/rights.ts";
import { explain } from "./refusals/server_error.ts";
import { Wakeups } from "./wakeups/wakeups.ts";

/** A client to examine, which sends every command by its words. */
export interface ExaminedClient extends IoredisClient {
  /** Sends a command. */
  call(command: string, ...args: string[]): Promise<unknown>;
}

/** A client of either kind that can be examined. */
export type ExaminableClient = ExaminedClient | UpstashClient;

/** Explains an error of the server as the store does; `undefined` if the error is no reply. */
export function refusal(client: ExaminableClient, error: unknown): string | undefined {
  const { port } = Wakeups.of(client);
  return port.isReply(error) ? explain(error.message, rightsOf(port.user)).message : undefined;
}

/** Deletes all that a server keeps of a lock. */
export async function deleteLock(client: ExaminableClient, name: string, prefix = DEFAULT_PREFIX): Promise<void> {
  await send(client, "DEL", ...new KeySpace(Wakeups.of(client).port, prefix).keysOf(name));
}

/**
 * Sends a message to a channel of the wake-ups and receives it over a second connection, as stores do. The result ends
 * the connection and, if there is no message yet, the wait.
 */
export function sendMessage(client: ExaminableClient): { received: Promise<void>; close(): void } {
  const channel = `holdfast:doctor:${crypto.randomUUID()}`;
  let connection: SecondConnection | undefined;
  const received = new Promise<void>((resolve, reject) => {
    connection = Wakeups.of(client).port.subscribers?.()[0]?.([channel], {
      opened: () => void send(client, "PUBLISH", channel, "").catch(reject),
      message: () => resolve(),
      refused: reject,
      ended: (error) => reject(error ?? new Error("the server has closed the connection")),
    });
    if (connection === undefined) reject(new Error("the client knows no node"));
  });
  return { received, close: () => connection?.close() };
}

function send(client: ExaminableClient, command: string, ...args: string[]): Promise<unknown> {
  return "postCommand" in client ? client.postCommand(command, ...args) : client.call(command, ...args);
}
