import { checkKeys, checkMilliseconds, show } from "../../_check.ts";
import type { RedisClient } from "./client.ts";
import type { Script } from "./scripts.ts";

/** How many replicas must have heard of a grant or a renewal before it counts. */
export interface ReplicasOptions {
  /** How many replicas, at least 1. */
  min: number;
  /**
   * How long they may take, in milliseconds, 1 to 2³¹ − 1. The connection does nothing else meanwhile.
   *
   * @default {500}
   */
  timeout?: number | undefined;
}

/** The options, checked and complete. */
export interface Replicas {
  readonly min: number;
  readonly timeout: number;
}

/** Checks the options, and that the client can do what they want. */
export function checkReplicas(client: RedisClient, options: ReplicasOptions): Replicas {
  const { min, timeout = 500 } = checkKeys(options, ["min", "timeout"]);
  if (typeof min !== "number") throw new TypeError(`replicas.min must be a number: got ${show(min)}`);
  if (!(Number.isInteger(min) && min >= 1)) throw new RangeError(`replicas.min must be 1, 2, 3, …: got ${min}`);
  checkMilliseconds("replicas.timeout", timeout, 1);
  if (typeof client.pipeline !== "function") {
    throw new TypeError("client must have the methods of an ioredis client: pipeline is missing");
  }
  return { min, timeout: Math.ceil(timeout) };
}

/**
 * Runs a script that writes if the lock is held, and asks with WAIT how many replicas have that, in one pipeline: WAIT
 * speaks of what its own connection has written before, so on a connection that was made anew in between, perhaps to a
 * server that was promoted without the lock, it would answer at once that all is well.
 *
 * A Cluster client that finds the lock's slot elsewhere learns of the move with a command of its own; while the slot is
 * on its way the pipeline goes on failing.
 *
 * @returns the reply of the script, and how many replicas have what it wrote
 */
export async function runAndWait(
  client: RedisClient,
  script: Script,
  keys: string[],
  argv: string[],
  { min, timeout }: Replicas,
): Promise<[reply: unknown, replicas: number]> {
  let known = true;
  let moved = false;
  for (;;) {
    const pipeline = client.pipeline!();
    if (known) pipeline.evalsha(script.sha, keys.length, ...keys, ...argv);
    else pipeline.eval(script.source, keys.length, ...keys, ...argv);
    pipeline.wait(min, timeout);
    const [[error, reply], [failure, replicas]] = await pipeline.exec() as [[unknown, unknown], [unknown, unknown]];
    const words = error instanceof Error ? error.message : "";
    if (known && words.startsWith("NOSCRIPT")) known = false;
    else if (!moved && /^(MOVED|ASK) /.test(words)) {
      moved = true;
      await client.eval(script.source, keys.length, ...keys, ...argv);
    } else {
      if (error ?? failure) throw error ?? failure;
      return [reply, Number(replicas)];
    }
  }
}
