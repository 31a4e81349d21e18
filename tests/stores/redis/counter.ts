import type { Redis } from "ioredis";

/** Returns the counter in the key of a fence, without the record behind it; `null` when there is no such key. */
export async function counterAt(client: Redis, key: string): Promise<string | null> {
  return (await client.get(key))?.split("\0")[0] ?? null;
}
