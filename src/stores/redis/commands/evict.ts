import { RESERVATION_MS } from "../constants.ts";
import { evict as script } from "../scripts/generated.ts";
import type { Command } from "./command.ts";

/** What `evict` replies. */
export interface EvictReply {
  /** How many of the holders that were meant have lost the lock. */
  readonly evicted: number;
  /** The digests of the holders that were not meant. */
  readonly others: readonly string[];
}

/** Takes the lock from the holders with these digests. */
export const evict: Command<readonly string[], EvictReply> = {
  script,
  encode: (keys, digests) => ({ keys: keys.slice(0, 5), args: [`${RESERVATION_MS}`, ...digests] }),
  decode(reply) {
    const [evicted, ...others] = reply as [unknown, ...unknown[]];
    return { evicted: Number(evicted), others: others.map(String) };
  },
};
