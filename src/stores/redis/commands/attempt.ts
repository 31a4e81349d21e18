import type { Claim } from "../../../store.ts";
import { attempt as script } from "../scripts/generated.ts";
import { decodeNotGranted, encodeAcquisition, type NotGranted, type WaiterInput } from "./acquisition.ts";
import type { Command } from "./command.ts";
import { encodeKind } from "./kind.ts";

/** What `attempt` is asked. */
export interface AttemptInput {
  readonly claim: Claim;
  /** How the handle waits when the lock is busy; left out when it does not. */
  readonly waiter?: WaiterInput | undefined;
  /** To steal the lock: the digests of the handles from which it may be taken. */
  readonly steal?: readonly string[] | undefined;
}

/** What `attempt` replies. */
export type AttemptReply = { readonly granted: true; readonly fence: bigint } | NotGranted;

/** Acquires a lock and issues a fence, or joins the queue. */
export const attempt: Command<AttemptInput, AttemptReply> = {
  script,
  encode(keys, { claim, waiter, steal }) {
    const args = encodeAcquisition(claim, waiter, encodeKind(claim, steal !== undefined));
    return { keys, args: steal === undefined ? args : [...args, ...steal] };
  },
  decode(reply) {
    if (!Array.isArray(reply)) return { granted: true, fence: BigInt(String(reply)) };
    const [first, ...others] = reply;
    // To be asked again at once, with the digests of the others too.
    if (first === ":steal") return { granted: false, retryAfter: 1, ticket: "", others: others.map(String) };
    return decodeNotGranted(reply);
  },
};
