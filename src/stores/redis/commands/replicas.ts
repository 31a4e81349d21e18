import type { Claim } from "../../../store.ts";
import type { RedisClient } from "../clients/client.ts";
import { renew, type RenewReply } from "./renew.ts";
import type { Connection } from "../clients/connection.ts";
import type { LockKeys } from "../keys/keys.ts";
import type { ReplicasSettings } from "../options.ts";
import type { Runner } from "./runner.ts";
import type { Script } from "./script.ts";

/** The answer to a renewal, and whether enough replicas have it. */
export interface ReplicatedRenewal extends RenewReply {
  readonly replicated: boolean;
}

/** Renews locks on a server and its replicas. */
export class Replicas {
  /** The message of the error when too few replicas have a renewal. */
  readonly shortage: string;
  readonly #client: RedisClient;
  readonly #connection: Connection;
  readonly #runner: Runner;
  readonly #settings: ReplicasSettings;

  /** Renews over a client, whose connection is given, and which has the method `pipeline`. */
  constructor(client: RedisClient, connection: Connection, runner: Runner, settings: ReplicasSettings) {
    this.#client = client;
    this.#connection = connection;
    this.#runner = runner;
    this.#settings = settings;
    this.shortage = `fewer than ${settings.min} replicas had it within ${settings.timeout} ms`;
  }

  /** Renews a lock, and waits until enough replicas have the renewal, or their time is over. */
  async renew(lock: LockKeys, claim: Claim): Promise<ReplicatedRenewal> {
    const { cuts, database } = this.#connection;
    const { script } = renew;
    const { keys, args } = renew.encode(lock, claim);
    try {
      const [reply, count] = await runAndWait(this.#client, script, keys, args, this.#settings);
      // In another database the script has found, and changed, nothing.
      if (!database.confirmed) await database.confirm();
      return { ...renew.decode(reply, claim), replicated: count >= this.#settings.min };
    } catch (error) {
      throw this.#runner.failure(error, script, keys, cuts);
    }
  }
}

/**
 * Runs a script and then WAIT, in one pipeline. WAIT counts the replicas that have what its own connection has written
 * before. On a new connection, perhaps to a server that was promoted without the lock, it would answer at once that all
 * is well.
 *
 * A Cluster client that finds the lock's slot on another node learns of the move by a separate command. While the slot
 * is being moved the pipeline goes on failing.
 *
 * @returns the reply of the script, and how many replicas have what it wrote
 */
async function runAndWait(
  client: RedisClient,
  script: Script,
  keys: string[],
  argv: string[],
  { min, timeout }: ReplicasSettings,
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
