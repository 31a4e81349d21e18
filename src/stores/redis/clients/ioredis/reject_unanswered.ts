import type { IoredisClient } from "../client.ts";

/** A command of ioredis that was sent, in its place in a queue. */
interface Sent {
  readonly command: { reject(error: Error): void };
}

/**
 * Rejects the commands that a client has kept to send them again over its next connection, when it is closed for good
 * before there is one, or has been told not to send again. ioredis (5.11, 6.0) forgets them, and their callers would wait
 * for ever.
 */
export function rejectUnanswered(client: IoredisClient): void {
  const queue: { shift?(): Sent | undefined } | null | undefined = Reflect.get(client, "prevCommandQueue");
  if (typeof queue?.shift !== "function") return;
  for (let sent = queue.shift(); sent !== undefined; sent = queue.shift()) {
    sent.command.reject(new Error("Connection is closed."));
  }
}
