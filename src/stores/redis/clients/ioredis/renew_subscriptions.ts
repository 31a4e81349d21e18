import type { IoredisClient } from "../client.ts";

/** A command of ioredis, which is settled once. */
interface SentCommand {
  readonly name: string;
  readonly args: readonly unknown[];
  readonly promise: Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly constructor: new (name: string, args: readonly unknown[]) => SentCommand;
}

/** The commands that a client is going to send again over its next connection. */
interface Unanswered {
  readonly length: number;
  peekAt(index: number): { command: SentCommand };
}

/**
 * Replaces each SUBSCRIBE that a client is going to send again by a new one. A server replies to it once for each channel.
 * ioredis (6.0) counts on from the replies of the connection that was cut, and takes those that are left over for replies
 * to the commands behind it: an attempt would be granted a lock with the fence of another one.
 */
export function renewSubscriptions(client: IoredisClient): void {
  const queue: Unanswered | null | undefined = Reflect.get(client, "prevCommandQueue");
  if (typeof queue?.peekAt !== "function") return;
  for (let i = 0; i < queue.length; i++) {
    const sent = queue.peekAt(i);
    const { command } = sent;
    if (!/^[ps]?subscribe$/i.test(command.name)) continue;
    sent.command = new command.constructor(command.name, command.args);
    sent.command.promise.then(command.resolve, command.reject);
  }
}
