import { type AttemptOptions, type Claim, handleOf } from "../../../contract/store.ts";
import * as scripts from "../scripts/generated.ts";
import { type AttemptInput, decodeNotGranted, exhausted, type NotGranted } from "./attempt.ts";
import type { Command } from "./command.ts";
import { decodeBigInt, decodeFlag, decodeList, decodeOneOf, encodeKind, milliseconds } from "./values.ts";
import type { Inspection, Vote, VoteOptions } from "../../../contract/quorum_node.ts";

export type VoteInput = Pick<AttemptInput, "claim" | "waiter"> & Omit<VoteOptions, keyof AttemptOptions>;

export type VoteReply = Extract<Vote, { granted: true }> | NotGranted;

/** Acquires a lock on one node of a quorum and raises its counter of fences, or joins the queue. */
export const vote: Command<VoteInput, VoteReply> = {
  script: scripts.vote,
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

/**
 * Raises the counter of fences for the holder of a lock on one node of a quorum, from below a fence to the end of its
 * block; replies whether it did.
 */
export const confirm: Command<{ claim: Claim; fence: bigint; end?: bigint | undefined }, boolean> = {
  script: scripts.confirm,
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
  script: scripts.inspect,
  encode: (keys, claim) => ({ keys, args: [handleOf(claim), encodeKind(claim)] }),
  decode(reply) {
    const [state, counter] = decodeList(reply);
    return { state: STATES[decodeOneOf(state, 2)]!, counter: decodeBigInt(counter) };
  },
};

/**
 * Gives the lock back to a handle that one node of a quorum has lost, if the counter of fences is the expected one;
 * replies whether the handle holds it.
 */
export const retake: Command<{ claim: Claim; fence: bigint; counter: bigint }, boolean> = {
  script: scripts.retake,
  encode(keys, { claim, fence, counter }) {
    const { meta = "" } = claim;
    const args = [handleOf(claim), milliseconds(claim.lease), meta, encodeKind(claim), `${fence}`, `${counter}`];
    if (claim.renewal !== undefined) args.push(`${claim.renewal}`);
    return { keys, args };
  },
  decode: decodeFlag,
};
