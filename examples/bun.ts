/**
 * A job that runs once a night in Bun, although several processes start it, with locks over Bun's own `RedisClient`.
 * Start it in two terminals: one writes the report, the other one finds it written.
 *
 * ```sh
 * bun examples/bun.ts 2026-01-31
 * ```
 *
 * The environment variable `REDIS_URL` names the server; Bun reads it.
 *
 * @module
 */
import { acquire, LockTimeoutError } from "@holdfast/lock";
import type { BunRedisClient } from "@holdfast/lock/redis";

/** What is needed of Bun. With the package `@types/bun` write `import { RedisClient } from "bun"` instead. */
declare const Bun: {
  readonly argv: readonly string[];
  readonly RedisClient: new () => BunRedisClient & {
    get(key: string): Promise<string | null>;
    set(key: string, value: string): Promise<unknown>;
  };
};

const [, , night = new Date().toISOString().slice(0, 10)] = Bun.argv;
const client = new Bun.RedisClient();
try {
  await using lock = await acquire(client, "nightly-report", { wait: 30_000 });
  const key = `example:reports:${night}`;
  const author = await client.get(key);
  if (author !== null) console.log(`the report of ${night} was already written under fence ${author}`);
  else {
    console.log(`writing the report of ${night}`);
    await new Promise((resolve) => setTimeout(resolve, 500)); // the work
    lock.signal.throwIfAborted();
    await client.set(key, `${lock.fence}`);
    console.log(`the report of ${night} is written under fence ${lock.fence}`);
  }
} catch (error) {
  if (!(error instanceof LockTimeoutError)) throw error;
  console.log("another process is still at it");
} finally {
  client.close();
}
