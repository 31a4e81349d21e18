import type { NodeRedisClient } from "../client.ts";

/** What a client reads with; the clients of a pool, a Cluster and Sentinels subscribe over connections of their own. */
interface ReadingClient {
  _getQueue?(): { readonly decoder: { onPush(push: unknown): void } };
  emit(event: "error", error: unknown): unknown;
}

/**
 * Reports what a listener of a subscription throws without disturbing the replies. node-redis (5.12, 6.3) calls it while
 * it reads: over RESP3 it would drop the replies that have arrived with the message, and give each command the reply to
 * a later one from then on. An attempt would be granted a lock with the fence of another one.
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
