import { type Claim, handleOf } from "../../../store.ts";
import { retake as script } from "../scripts/generated.ts";
import { type Command, decodeFlag, milliseconds } from "./command.ts";
import { encodeKind } from "./kind.ts";

/** What `retake` is asked. */
export interface RetakeInput {
  readonly claim: Claim;
  readonly fence: bigint;
  /** What the counter of fences must be. */
  readonly counter: bigint;
}

/** Gives the lock back to a handle that one node of a quorum has lost; replies whether the handle holds it. */
export const retake: Command<RetakeInput, boolean> = {
  script,
  encode(keys, { claim, fence, counter }) {
    const { meta = "" } = claim;
    const args = [handleOf(claim), milliseconds(claim.lease), meta, encodeKind(claim), `${fence}`, `${counter}`];
    if (claim.renewal !== undefined) args.push(`${claim.renewal}`);
    return { keys, args };
  },
  decode: decodeFlag,
};
