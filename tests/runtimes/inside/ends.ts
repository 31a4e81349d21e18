/**
 * A program like a user's, with nothing put in the place of what a runtime lacks. It goes on while it waits for locks,
 * and then ends by itself, although it still holds some.
 *
 * @module
 */
import { acquire, type LockError, type LockTarget } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { sqlite } from "@holdfast/lock/sqlite";
import { upstash } from "@holdfast/lock/upstash";
import type { BunRedisClient } from "../../../src/stores/redis/clients/client.ts";

/** Where locks are taken, and what closes it, if the program has to. */
interface Opened {
  readonly target: LockTarget;
  close?(): void;
}

const [kind = "", ...address] = process.argv.slice(2);

async function ofIoredis(name: "ioredis" | "ioredis5" | "iovalkey"): Promise<Opened> {
  const { Redis }: typeof import("ioredis") = await import(name);
  const client = new Redis(Number(address[0]), "127.0.0.1");
  return { target: client, close: () => client.disconnect() };
}

async function ofNodeRedis(name: "redis" | "redis5"): Promise<Opened> {
  const { createClient }: typeof import("redis") = await import(name);
  const client = createClient({ socket: { host: "127.0.0.1", port: Number(address[0]) } });
  client.on("error", console.error);
  await client.connect();
  return { target: client, close: () => client.destroy() };
}

async function ofGlide(): Promise<Opened> {
  const { GlideClient, Logger } = await import("@valkey/valkey-glide");
  Logger.setLoggerConfig("off");
  const client = await GlideClient.createClient({
    addresses: [{ host: "127.0.0.1", port: Number(address[0]) }],
    // By default a request may take 250 ms, and a connection 2 s.
    requestTimeout: 60_000,
    advancedConfiguration: { connectionTimeout: 60_000 },
  });
  return { target: client, close: () => client.close() };
}

function ofBun(): Opened {
  const { RedisClient } = Reflect.get(globalThis, "Bun") as { RedisClient: new (url: string) => BunRedisClient };
  const client = new RedisClient(`redis://127.0.0.1:${address[0]}`);
  return { target: client, close: () => client.close() };
}

const OPEN: Readonly<Record<string, () => Opened | Promise<Opened>>> = {
  memory: () => ({ target: memory() }),
  sqlite: () => ({ target: sqlite(address[0]!) }),
  upstash: () => ({ target: upstash({ url: address[0]!, token: address[1]! }) }),
  "ioredis 6": () => ofIoredis("ioredis"),
  "ioredis 5": () => ofIoredis("ioredis5"),
  iovalkey: () => ofIoredis("iovalkey"),
  "node-redis 6": () => ofNodeRedis("redis"),
  "node-redis 5": () => ofNodeRedis("redis5"),
  Bun: ofBun,
  "valkey-glide": ofGlide,
};

const opened = await OPEN[kind]!();
const { target } = opened;

// It renews itself.
await acquire(target, "a");
// Nothing but the wait keeps the process alive.
await acquire(target, "a", { wait: 1_000 }).catch((error: LockError) => console.log(error.code));
await acquire(target, "b", { lease: 300, renew: false });
// Not awaited: at the top level a runtime may wait by itself.
acquire(target, "b").then(() => {
  console.log("served");
  opened.close?.();
});
