import type { IoredisClient, RedisNode } from "../client.ts";

/**
 * Handles the rejections of ASKING, which a Cluster client sends to a node ahead of a command whose slot is being moved
 * there. ioredis (5.11, 6.0) drops its promise: when the node dies or does not answer in time, the unhandled rejection
 * would end a Node process. The command itself is rejected as well, for its caller.
 */
export function catchAsking(node: RedisNode): void {
  const asking: unknown = Reflect.get(node, "asking");
  if (typeof asking !== "function") return;
  const handled = (...args: unknown[]): unknown => {
    const asked: unknown = Reflect.apply(asking, node, args);
    if (asked instanceof Promise) asked.catch(() => {}); // The command behind it rejects, too.
    return asked;
  };
  Reflect.set(node, "asking", handled);
}

/** A command of ioredis. */
interface SentCommand {
  readonly name: string;
  readonly args: readonly unknown[];
  readonly promise: Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly constructor: new (name: string, args: readonly unknown[]) => SentCommand;
}

/** The commands without an answer, which a client resends over its next connection. */
interface Unanswered {
  readonly length: number;
  shift?(): { readonly command: SentCommand } | undefined;
  peekAt?(index: number): { command: SentCommand };
}

function unansweredBy(client: IoredisClient): Unanswered | undefined {
  return Reflect.get(client, "prevCommandQueue") ?? undefined;
}

/**
 * Rejects the commands that a client has kept for its next connection, when it is closed for good first, or has been
 * told not to resend. ioredis (5.11, 6.0) drops them, and their callers would wait for ever.
 */
export function rejectUnanswered(client: IoredisClient): void {
  const queue = unansweredBy(client);
  for (let sent = queue?.shift?.(); sent !== undefined; sent = queue?.shift?.()) {
    sent.command.reject(new Error("Connection is closed."));
  }
}

/**
 * Replaces each SUBSCRIBE that a client will resend by a new command. A server replies to it once for each channel.
 * ioredis (6.0) continues its count of replies from the cut connection, and takes the surplus replies for replies to
 * the following commands: an attempt would be granted a lock with the fence of another grant.
 */
export function renewSubscriptions(client: IoredisClient): void {
  const queue = unansweredBy(client);
  if (queue?.peekAt === undefined) return;
  for (let i = 0; i < queue.length; i++) {
    const sent = queue.peekAt(i);
    const { command } = sent;
    if (!/^[ps]?subscribe$/i.test(command.name)) continue;
    sent.command = new command.constructor(command.name, command.args);
    sent.command.promise.then(command.resolve, command.reject);
  }
}
