import { type Claim, handleOf } from "../../../contract/store.ts";
import {
  evict as evictScript,
  held as heldScript,
  notify as notifyScript,
  prolong as prolongScript,
  release as releaseScript,
  renew as renewScript,
} from "../scripts/generated.ts";
import {
  type Command,
  decodeFlag,
  decodeList,
  decodeNumber,
  decodeOneOf,
  encodeKind,
  milliseconds,
} from "./command.ts";
import { RESERVATION_MS } from "../constants.ts";

export interface RenewReply {
  readonly renewed: boolean;
  /** Whether the lease has become so much shorter that the waiters should check again. */
  readonly earlier: boolean;
}

/** Renews the lease of a holder. */
export const renew: Command<Claim, RenewReply> = {
  script: renewScript,
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
  script: releaseScript,
  once: true,
  encode: (keys, claim) => ({ keys: keys.slice(0, 5), args: [handleOf(claim), milliseconds(claim.lease)] }),
  decode: decodeFlag,
};

/** Keeps the members of the holder's run listed for another lease. */
export const prolong: Command<Claim, void> = {
  script: prolongScript,
  encode: (keys, claim) => ({ keys: keys.slice(0, 5), args: [handleOf(claim), milliseconds(claim.lease)] }),
  decode() {},
};

/** Replies whether a handle holds the lock. */
export const held: Command<Claim, boolean> = {
  script: heldScript,
  encode: (keys, claim) => ({ keys: keys.slice(0, 4), args: [handleOf(claim)] }),
  decode: decodeFlag,
};

export interface EvictInput {
  /** The digests of the holders to evict; none to list the holders. */
  readonly digests: readonly string[];
  /** The description of the caller, as JSON. */
  readonly meta: string | undefined;
}

/** A holder that was not to be evicted. */
export interface OtherHolder {
  readonly digest: string;
  readonly handle: string;
}

export interface EvictReply {
  /** How many of the holders to evict have lost the lock. */
  readonly evicted: number;
  readonly others: readonly OtherHolder[];
}

/** Takes the lock from the holders with these digests. */
export const evict: Command<EvictInput, EvictReply> = {
  script: evictScript,
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
  script: notifyScript,
  encode: (keys) => ({ keys: keys.slice(0, 3), args: [] }),
  decode() {},
};
