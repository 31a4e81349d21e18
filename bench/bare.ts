import type { RedisClient } from "@holdfast/lock";
import { commandsOf, type PairCommands } from "./pair_commands.ts";

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
  readonly #commands: PairCommands;
  readonly #sha: string;

  private constructor(commands: PairCommands, sha: string) {
    this.#commands = commands;
    this.#sha = sha;
  }

  /** Loads the script. */
  static async on(client: RedisClient): Promise<BarePair> {
    const commands = commandsOf(client);
    return new BarePair(commands, String(await commands.load(COMPARE_AND_DELETE)));
  }

  /** Takes the lock and gives it back. */
  async run(key: string): Promise<void> {
    const owner = crypto.randomUUID();
    if (await this.#commands.set(key, owner, LEASE) !== "OK") throw new Error(`${key} is taken`);
    // Over HTTP numbers are texts.
    if (Number(await this.#commands.evalsha(this.#sha, [key], [owner])) !== 1) throw new Error(`${key} was lost`);
  }
}
