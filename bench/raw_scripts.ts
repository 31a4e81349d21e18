import type { Redis } from "ioredis";
import { lockKeys } from "../src/stores/redis/keys/keys.ts";
import { attempt, release } from "../src/stores/redis/scripts/generated.ts";

/** The lease of Holdfast by default, so that both set the same expiry. */
const LEASE = "30000";

/** As long as what describes a process by default. */
const META = '{"host":"worker-1","pid":"4711"}';

/**
 * The two scripts of a lock that nobody else wants, sent as they are: what a fence and a queue cost the client library,
 * the connection and the server, with nothing of Holdfast's own around them.
 */
export class RawScripts {
  readonly #client: Redis;

  private constructor(client: Redis) {
    this.#client = client;
  }

  /** Loads the scripts. */
  static async on(client: Redis): Promise<RawScripts> {
    for (const { source } of [attempt, release]) await client.script("LOAD", source);
    return new RawScripts(client);
  }

  /** Takes the lock and gives it back. */
  async run(key: string): Promise<void> {
    const owner = crypto.randomUUID();
    await this.#take(key, owner);
    await this.#release(key, owner);
  }

  /** Does the same on several masters at the same time, waiting for all. */
  static async runOnAll(masters: readonly RawScripts[], key: string): Promise<void> {
    const owner = crypto.randomUUID();
    await Promise.all(masters.map((master) => master.#take(key, owner)));
    await Promise.all(masters.map((master) => master.#release(key, owner)));
  }

  async #take(key: string, owner: string): Promise<void> {
    const fence = await this.#client.evalsha(attempt.sha, 6, ...lockKeys(key), owner, LEASE, META);
    if (typeof fence !== "string") throw new Error(`${key} is taken`);
  }

  async #release(key: string, owner: string): Promise<void> {
    const released = await this.#client.evalsha(release.sha, 5, ...lockKeys(key).slice(0, 5), owner, LEASE);
    if (released !== 1) throw new Error(`${key} was lost`);
  }
}
