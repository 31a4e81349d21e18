import { acquire } from "@holdfast/lock";
import { cas } from "@holdfast/lock/cas";
import type { MemcacheClient } from "memcache-client";
import { memcached } from "../tests/support/memcached_backend.ts";
import { findMemcached, MemcachedServer } from "../tests/support/memcached_server.ts";
import type { Figure } from "./figure.ts";
import type { Bench } from "./row.ts";
import { compare } from "./uncontended.ts";

/** Measures the engine on memcached, which is an example, so that there is nothing to be reached. */
export async function onMemcached(bench: Bench): Promise<Figure[]> {
  const found = findMemcached();
  if ("missing" in found) {
    console.error(`nothing is measured on memcached: ${found.missing}`);
    return [];
  }
  const server = await MemcachedServer.start();
  bench.stack.defer(() => server[Symbol.asyncDispose]());
  const store = cas(memcached(server.connect()));
  const bare = server.connect();
  const contest = {
    what: "memcached (the example): acquire + release",
    ours: async (loop: number) => {
      await using _lock = await acquire(store, `ours:${loop}`);
    },
    reference: (loop: number) => barePair(bare, `bare:${loop}`),
    against: "bare gets + add, delete",
  };
  return [await compare(contest, { loops: 1, pairs: 200, seconds: 7 }, bench)];
}

/** The least that a lock on memcached can be: take it if nobody has it, and delete it. */
async function barePair(client: MemcacheClient, key: string): Promise<void> {
  if (await client.gets(key) !== undefined) throw new Error(`${key} is taken`);
  await client.add(key, crypto.randomUUID(), { lifetime: 0 });
  await client.delete(key);
}
