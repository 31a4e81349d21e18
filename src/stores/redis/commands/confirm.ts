import { type Claim, handleOf } from "../../../store.ts";
import { confirm as script } from "../scripts/generated.ts";
import { exhausted } from "./acquisition.ts";
import { type Command, decodeFlag } from "./command.ts";

/** What `confirm` is asked. */
export interface ConfirmInput {
  readonly claim: Claim;
  /** The start of the block of fences. */
  readonly fence: bigint;
  /** Its end; the start when left out. */
  readonly end?: bigint | undefined;
}

/** Raises the counter of fences for the holder of a lock on one node of a quorum; replies whether it did. */
export const confirm: Command<ConfirmInput, boolean> = {
  script,
  encode(keys, { claim, fence, end = fence }) {
    const args = [handleOf(claim), `${fence}`];
    if (end > fence) args.push(claim.meta ?? "", `${end}`);
    else if (claim.meta !== undefined) args.push(claim.meta);
    return { keys, args };
  },
  decode(reply) {
    if (Array.isArray(reply)) throw exhausted(String(reply[1]));
    return decodeFlag(reply);
  },
};
