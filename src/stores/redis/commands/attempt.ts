import { type Claim, type Granted, handleOf } from "../../../store.ts";
import { attempt as script } from "../scripts/generated.ts";
import { decodeNotGranted, type NotGranted, type WaiterInput } from "./acquisition.ts";
import { type Command, milliseconds } from "./command.ts";
import { encodeKind } from "./kind.ts";

/** What `attempt` is asked. */
export interface AttemptInput {
  readonly claim: Claim;
  /** How the handle waits when the lock is busy; left out when it does not. */
  readonly waiter?: WaiterInput | undefined;
  /** The ids of other waiters of this process, which are as alive as this one; not with `steal`. */
  readonly alive?: readonly string[] | undefined;
  /** To steal the lock: the digests of the handles from which it may be taken. */
  readonly steal?: readonly string[] | undefined;
}

/** What `attempt` replies. */
export type AttemptReply = Granted | NotGranted;

/** Acquires a lock and issues a fence, or joins the queue. */
export const attempt: Command<AttemptInput, AttemptReply> = {
  script,
  encode(keys, { claim, waiter, steal, alive }) {
    const kind = encodeKind(claim, steal !== undefined);
    const { address = "", group = "", ticket = "" } = waiter ?? {};
    const fences = kind === "" && wantsBlock(claim) ? `${claim.fences}` : "";
    const args = [handleOf(claim), milliseconds(claim.lease), claim.meta ?? "", address];
    args.push(kind === "" ? group : "", ticket, kind, fences, ...steal ?? alive ?? []);
    // Most locks are exclusive, and most are free.
    while (args.at(-1) === "") args.pop();
    return { keys, args };
  },
  decode(reply, { claim, waiter, steal }) {
    if (!Array.isArray(reply)) {
      const fence = BigInt(String(reply));
      if (steal === undefined && wantsBlock(claim)) {
        return { granted: true, fence, fences: claim.fences, contended: false };
      }
      return waiter?.group === undefined ? { granted: true, fence } : { granted: true, fence, contended: false };
    }
    const [first, ...others] = reply;
    if (first === ":granted") return decodeGranted(others);
    // To be asked again at once, with the digests of the others too.
    if (first === ":steal") return { granted: false, retryAfter: 1, ticket: "", others: others.map(String) };
    return decodeNotGranted(reply);
  },
};

/** Whether a claim is for several fences, and may have them: it is exclusive, and its owner is fresh. */
function wantsBlock(claim: Claim): boolean {
  return claim.fences !== undefined && claim.fences > 1 && encodeKind(claim) === "";
}

function decodeGranted([fence, fences, contended, ...run]: readonly unknown[]): Granted {
  return {
    granted: true,
    fence: BigInt(String(fence)),
    fences: Number(fences),
    contended: Number(contended) === 1,
    run: run.map(String),
  };
}
