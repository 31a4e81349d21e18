import type { RedisClient } from "@holdfast/lock";
import { lockKeys } from "../src/stores/redis/keys/keys.ts";
import { attempt, release } from "../src/stores/redis/scripts/generated.ts";
import { commandsOf, type PairCommands } from "./pair_commands.ts";

/** The lease of Holdfast by default, so that both set the same expiry. */
const LEASE = "30000";

/** As long as what describes a process by default. */
const META = '{"host":"worker-1","pid":"4711"}';

/**
 * The two scripts of a lock that nobody else wants, sent as they are: what a fence and a queue cost the client library,
 * the connection and the server, with nothing of Holdfast's own around them.
 */
export class RawScripts {
  readonly #commands: PairCommands;

  private constructor(commands: PairCommands) {
    this.#commands = commands;
  }

  /** Loads the scripts. */
  static async on(client: RedisClient): Promise<RawScripts> {
    const commands = commandsOf(client);
    for (const { source } of [attempt, release]) await commands.load(source);
    return new RawScripts(commands);
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
    const fence = await this.#commands.evalsha(attempt.sha, [...lockKeys(key)], [owner, LEASE, META]);
    if (typeof fence !== "string") throw new Error(`${key} is taken`);
  }

  async #release(key: string, owner: string): Promise<void> {
    const released = await this.#commands.evalsha(release.sha, lockKeys(key).slice(0, 5), [owner, LEASE]);
    if (released !== 1) throw new Error(`${key} was lost`);
  }
}
