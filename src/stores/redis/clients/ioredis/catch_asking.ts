import type { RedisNode } from "../client.ts";

/**
 * Handles the rejections of ASKING, which a Cluster client sends to a node ahead of a command whose slot is being moved
 * there. ioredis (5.11, 6.0) drops the promise of it: when the node dies or does not answer in time, that would be an
 * unhandled rejection, which ends a Node process. The command itself is rejected as well, for its caller.
 */
export function catchAsking(node: RedisNode): void {
  const asking: unknown = Reflect.get(node, "asking");
  if (typeof asking !== "function") return;
  const handled = (...args: unknown[]): unknown => {
    const asked: unknown = Reflect.apply(asking, node, args);
    if (asked instanceof Promise) asked.catch(() => {});
    return asked;
  };
  Reflect.set(node, "asking", handled);
}
