import { type Claim, handleOf } from "../../../store.ts";
import { prolong as script } from "../scripts/generated.ts";
import { type Command, milliseconds } from "./command.ts";

/** Keeps the members of the holder's run listed for another lease. */
export const prolong: Command<Claim, void> = {
  script,
  encode: (keys, claim) => ({ keys: keys.slice(0, 5), args: [handleOf(claim), milliseconds(claim.lease)] }),
  decode() {},
};
