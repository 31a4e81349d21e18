import { type Claim, handleOf } from "../../../store.ts";
import { confirm as script } from "../scripts/generated.ts";
import { exhausted } from "./acquisition.ts";
import { type Command, decodeFlag } from "./command.ts";

/** What `confirm` is asked. */
export interface ConfirmInput {
  readonly claim: Claim;
  readonly fence: bigint;
}

/** Raises the counter of fences for the holder of a lock on one node of a quorum; replies whether it did. */
export const confirm: Command<ConfirmInput, boolean> = {
  script,
  encode: (keys, { claim, fence }) => ({ keys, args: [handleOf(claim), `${fence}`] }),
  decode(reply) {
    if (Array.isArray(reply)) throw exhausted(String(reply[1]));
    return decodeFlag(reply);
  },
};
