import type { NodeRedisClient } from "../client.ts";

/** The reader of a client; the clients of a pool, a Cluster and Sentinels subscribe over connections of their own. */
interface ReadingClient {
  _getQueue?(): { readonly decoder: { onPush(push: unknown): void } };
  emit(event: "error", error: unknown): unknown;
}

/**
 * Reports errors of a subscription's listener without disturbing the replies. node-redis (5.12, 6.3) calls the listener
 * while it reads. Over RESP3 an error would make it drop the replies that arrived with the message, and give each later
 * command the reply to another: an attempt would be granted a lock with the fence of another grant.
 */
export function catchListeners(client: NodeRedisClient): void {
  const reading = client as unknown as ReadingClient;
  const decoder = reading._getQueue?.().decoder;
  if (decoder === undefined) return;
  const { onPush } = decoder;
  decoder.onPush = (push) => {
    try {
      onPush(push);
    } catch (error) {
      // As it does itself, but after the replies.
      queueMicrotask(() => reading.emit("error", error));
    }
  };
}

/**
 * Returns whether an error of node-redis is a reply of the server. Its classes have names that bundlers change, so the
 * words decide: a reply begins with a word in capitals, and an error of the system has a code.
 */
export function isReply(error: unknown): error is Error {
  return error instanceof Error && /^[A-Z][A-Z0-9]+(?: |$)/.test(error.message) && !("code" in error);
}
