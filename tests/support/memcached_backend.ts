import { createHash } from "node:crypto";
import type { MemcacheClient } from "memcache-client";
import type { Backend } from "@holdfast/lock/cas";

/** Keeps documents on one memcached server. In front of each text is an id of its own: that is its version. */
export function memcached(client: MemcacheClient): Backend<string | undefined> {
  const keyOf = (name: string) => "holdfast:" + createHash("sha256").update(name).digest("base64url");
  const gets = async (name: string) => {
    const { value, casUniq } = await client.gets<string>(keyOf(name)) ?? {};
    return { value: value?.slice(36), version: value?.slice(0, 36), casUniq };
  };
  return {
    read: gets,
    async write(name, text, version) {
      const { casUniq, ...found } = await gets(name);
      if (found.version !== version) return { written: false, found };
      const id = crypto.randomUUID();
      try {
        // This client has everything expire after a minute, unless it is told not to.
        if (casUniq === undefined) await client.add(keyOf(name), id + text, { lifetime: 0 });
        else await client.cas(keyOf(name), id + text, { lifetime: 0, casUniq });
        return { written: true, version: id };
      } catch (error) {
        if (/^(NOT_STORED|EXISTS|NOT_FOUND)$/.test((error as Error).message)) return { written: false };
        throw error;
      }
    },
  };
}
