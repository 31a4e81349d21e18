import { type Claim, handleOf } from "../../../store.ts";
import { vote as script } from "../scripts/generated.ts";
import { decodeNotGranted, type NotGranted, type WaiterInput } from "./acquisition.ts";
import { type Command, milliseconds } from "./command.ts";
import { encodeKind } from "./kind.ts";

/** What `vote` is asked. */
export interface VoteInput {
  readonly claim: Claim;
  /** How the handle waits when the lock is busy; left out when it does not. */
  readonly waiter?: WaiterInput | undefined;
  /** The fence that the asker hopes for. */
  readonly guess: bigint;
  /** The end of the block of fences that the asker hopes for; the guess when left out. */
  readonly end?: bigint | undefined;
  /** How far the end may be ahead of the server's clock, in milliseconds. */
  readonly maxClockSkew: number;
}

/** What `vote` replies. */
export type VoteReply = { readonly granted: true; readonly counter: bigint; readonly raised: boolean } | NotGranted;

/** Acquires a lock on one node of a quorum and raises its counter of fences, or joins the queue. */
export const vote: Command<VoteInput, VoteReply> = {
  script,
  encode(keys, { claim, waiter, guess, end = guess, maxClockSkew }) {
    const { address = "", ticket = "" } = waiter ?? {};
    const args = [handleOf(claim), milliseconds(claim.lease), claim.meta ?? "", address, ticket, encodeKind(claim)];
    args.push(`${guess}`, milliseconds(maxClockSkew));
    if (end > guess) args.push(`${end}`);
    return { keys, args };
  },
  decode(reply) {
    if (!Array.isArray(reply)) return { granted: true, counter: BigInt(String(reply)), raised: true };
    if (reply.length > 1) return decodeNotGranted(reply);
    return { granted: true, counter: BigInt(String(reply[0])), raised: false };
  },
};
