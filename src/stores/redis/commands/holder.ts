import { type Claim, handleOf } from "../../../contract/store.ts";
import * as scripts from "../scripts/generated.ts";
import type { Command } from "./command.ts";
import { decodeFlag, decodeList, decodeNumber, decodeOneOf, encodeKind, milliseconds } from "./values.ts";
import { RESERVATION_MS } from "../constants.ts";

export interface RenewReply {
  readonly renewed: boolean;
  /** Whether the lease has become so much shorter that the waiters should check again. */
  readonly earlier: boolean;
}

export const renew: Command<Claim, RenewReply> = {
  script: scripts.renew,
  encode(keys, claim) {
    const args = [handleOf(claim), milliseconds(claim.lease)];
    if (claim.renewal !== undefined) args.push(`${claim.renewal}`);
    // A lock that needs only its own key is renewed while a Cluster moves its slot.
    return { keys: encodeKind(claim) === "" ? [keys[0]] : keys.slice(0, 5), args };
  },
  decode(reply) {
    const outcome = decodeOneOf(reply, 2);
    return { renewed: outcome > 0, earlier: outcome === 2 };
  },
};

/** Releases the lock of a handle, or removes its waiter; replies whether there was anything to release. */
export const release: Command<Claim, boolean> = {
  script: scripts.release,
  once: true,
  encode: (keys, claim) => ({ keys: keys.slice(0, 5), args: [handleOf(claim), milliseconds(claim.lease)] }),
  decode: decodeFlag,
};

/** Keeps the members of the holder's run listed for another lease. */
export const prolong: Command<Claim, void> = {
  script: scripts.prolong,
  encode: (keys, claim) => ({ keys: keys.slice(0, 5), args: [handleOf(claim), milliseconds(claim.lease)] }),
  decode() {},
};

export const held: Command<Claim, boolean> = {
  script: scripts.held,
  encode: (keys, claim) => ({ keys: keys.slice(0, 4), args: [handleOf(claim)] }),
  decode: decodeFlag,
};

export interface EvictReply {
  /** How many of the holders to evict have lost the lock. */
  readonly evicted: number;
  readonly others: readonly { readonly digest: string; readonly handle: string }[];
}

/** Takes the lock from the holders with these digests; without a digest, only lists the holders. */
export const evict: Command<{ digests: readonly string[]; meta: string | undefined }, EvictReply> = {
  script: scripts.evict,
  once: true,
  encode: (keys, { digests, meta = "" }) => ({
    keys: keys.slice(0, 5),
    args: digests.length === 0 ? [`${RESERVATION_MS}`] : [`${RESERVATION_MS}`, meta, ...digests],
  }),
  decode(reply) {
    const [evicted, ...values] = decodeList(reply);
    const others = Array.from({ length: values.length / 2 }, (_, i) => {
      return { digest: String(values[2 * i]), handle: String(values[2 * i + 1]) };
    });
    return { evicted: decodeNumber(evicted), others };
  },
};

/** Notifies the head of the queue that the lock will be free earlier. */
export const notify: Command<void, void> = {
  script: scripts.notify,
  encode: (keys) => ({ keys: keys.slice(0, 3), args: [] }),
  decode() {},
};
