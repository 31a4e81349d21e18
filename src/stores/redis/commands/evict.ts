import { RESERVATION_MS } from "../constants.ts";
import { evict as script } from "../scripts/generated.ts";
import type { Command } from "./command.ts";

/** What `evict` is asked. */
export interface EvictInput {
  /** The digests of the holders that are meant; none to be told who holds the lock. */
  readonly digests: readonly string[];
  /** What describes the caller, JSON. */
  readonly meta: string | undefined;
}

/** A holder that was not meant. */
export interface OtherHolder {
  readonly digest: string;
  /** The id of its handle. */
  readonly handle: string;
}

/** What `evict` replies. */
export interface EvictReply {
  /** How many of the holders that were meant have lost the lock. */
  readonly evicted: number;
  readonly others: readonly OtherHolder[];
}

/** Takes the lock from the holders with these digests. */
export const evict: Command<EvictInput, EvictReply> = {
  script,
  encode: (keys, { digests, meta = "" }) => ({
    keys: keys.slice(0, 5),
    args: digests.length === 0 ? [`${RESERVATION_MS}`] : [`${RESERVATION_MS}`, meta, ...digests],
  }),
  decode(reply) {
    const [evicted, ...values] = (reply as unknown[]).map(String);
    const others = Array.from({ length: values.length / 2 }, (_, i) => {
      return { digest: values[2 * i]!, handle: values[2 * i + 1]! };
    });
    return { evicted: Number(evicted), others };
  },
};
