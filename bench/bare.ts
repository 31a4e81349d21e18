import type { Redis } from "ioredis";

/** Deletes the key if it still holds this owner. */
export const COMPARE_AND_DELETE =
  `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;

/** The lease of Holdfast by default, so that all set the same expiry. */
export const LEASE = 30_000;

/**
 * The least that a lock on Redis can be: `SET NX PX` with a fresh owner, and a compare-and-delete. No queue, no fence,
 * no renewal. What it costs is the client, the connection and two round trips: the yardstick for everything else.
 */
export class BarePair {
  readonly #client: Redis;
  readonly #sha: string;

  private constructor(client: Redis, sha: string) {
    this.#client = client;
    this.#sha = sha;
  }

  /** Loads the script. */
  static async on(client: Redis): Promise<BarePair> {
    return new BarePair(client, String(await client.script("LOAD", COMPARE_AND_DELETE)));
  }

  /** Takes the lock and gives it back. */
  async run(key: string): Promise<void> {
    const owner = crypto.randomUUID();
    if (await this.#client.set(key, owner, "PX", LEASE, "NX") !== "OK") throw new Error(`${key} is taken`);
    if (await this.#client.evalsha(this.#sha, 1, key, owner) !== 1) throw new Error(`${key} was lost`);
  }
}
