import { type Claim, handleOf } from "../../../store.ts";
import { renew as script } from "../scripts/generated.ts";
import { type Command, milliseconds } from "./command.ts";
import { encodeKind } from "./kind.ts";

/** What `renew` replies. */
export interface RenewReply {
  readonly renewed: boolean;
  /** Whether the lease has become so much shorter that the queue should look again. */
  readonly earlier: boolean;
}

/** Renews the lease of a holder. */
export const renew: Command<Claim, RenewReply> = {
  script,
  encode(keys, claim) {
    const args = [handleOf(claim), milliseconds(claim.lease)];
    if (claim.renewal !== undefined) args.push(`${claim.renewal}`);
    // A lock that needs only its own key is renewed while a Cluster moves its slot.
    return { keys: encodeKind(claim) === "" ? [keys[0]] : keys.slice(0, 5), args };
  },
  decode: (reply) => ({ renewed: Number(reply) > 0, earlier: Number(reply) === 2 }),
};
