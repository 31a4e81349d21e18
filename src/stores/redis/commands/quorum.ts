import { type Claim, handleOf } from "../../../contract/store.ts";
import {
  confirm as confirmScript,
  inspect as inspectScript,
  retake as retakeScript,
  vote as voteScript,
} from "../scripts/generated.ts";
import { decodeNotGranted, exhausted, type NotGranted, type WaiterInput } from "./attempt.ts";
import {
  type Command,
  decodeBigInt,
  decodeFlag,
  decodeList,
  decodeOneOf,
  encodeKind,
  milliseconds,
} from "./command.ts";
import type { Inspection } from "../../../contract/quorum_node.ts";

export interface VoteInput {
  readonly claim: Claim;
  /** How the handle waits when the lock is busy; left out for a handle that does not wait. */
  readonly waiter?: WaiterInput | undefined;
  readonly guess: bigint;
  /** The end of the block of fences that the caller hopes for; the guess when left out. */
  readonly end?: bigint | undefined;
  /** How far the end may be ahead of the server's clock, in milliseconds. */
  readonly maxClockSkew: number;
}

export type VoteReply = { readonly granted: true; readonly counter: bigint; readonly raised: boolean } | NotGranted;

/** Acquires a lock on one node of a quorum and raises its counter of fences, or joins the queue. */
export const vote: Command<VoteInput, VoteReply> = {
  script: voteScript,
  encode(keys, { claim, waiter, guess, end = guess, maxClockSkew }) {
    const { address = "", ticket = "" } = waiter ?? {};
    const args = [handleOf(claim), milliseconds(claim.lease), claim.meta ?? "", address, ticket, encodeKind(claim)];
    args.push(`${guess}`, milliseconds(maxClockSkew));
    if (end > guess) args.push(`${end}`);
    return { keys, args };
  },
  decode(reply) {
    if (!Array.isArray(reply)) return { granted: true, counter: decodeBigInt(reply), raised: true };
    if (reply.length > 1) return decodeNotGranted(reply);
    return { granted: true, counter: decodeBigInt(reply[0]), raised: false };
  },
};

export interface ConfirmInput {
  readonly claim: Claim;
  /** The start of the block of fences. */
  readonly fence: bigint;
  /** Its end; the start when left out. */
  readonly end?: bigint | undefined;
}

/** Raises the counter of fences for the holder of a lock on one node of a quorum; replies whether it did. */
export const confirm: Command<ConfirmInput, boolean> = {
  script: confirmScript,
  encode(keys, { claim, fence, end = fence }) {
    const args = [handleOf(claim), `${fence}`];
    if (end > fence) args.push(claim.meta ?? "", `${end}`);
    else if (claim.meta !== undefined) args.push(claim.meta);
    return { keys, args };
  },
  decode(reply) {
    if (Array.isArray(reply) && reply[0] === ":fence") throw exhausted(String(reply[1]));
    return decodeFlag(reply);
  },
};

/** The states in the order of their numbers in the reply. */
const STATES = ["taken", "free", "held"] as const;

/** Returns the state of the lock of a handle on one node of a quorum. */
export const inspect: Command<Claim, Inspection> = {
  script: inspectScript,
  encode: (keys, claim) => ({ keys, args: [handleOf(claim), encodeKind(claim)] }),
  decode(reply) {
    const [state, counter] = decodeList(reply);
    return { state: STATES[decodeOneOf(state, 2)]!, counter: decodeBigInt(counter) };
  },
};

export interface RetakeInput {
  readonly claim: Claim;
  readonly fence: bigint;
  /** The expected counter of fences. */
  readonly counter: bigint;
}

/** Gives the lock back to a handle that one node of a quorum has lost; replies whether the handle holds it. */
export const retake: Command<RetakeInput, boolean> = {
  script: retakeScript,
  encode(keys, { claim, fence, counter }) {
    const { meta = "" } = claim;
    const args = [handleOf(claim), milliseconds(claim.lease), meta, encodeKind(claim), `${fence}`, `${counter}`];
    if (claim.renewal !== undefined) args.push(`${claim.renewal}`);
    return { keys, args };
  },
  decode: decodeFlag,
};
