import type { Claim } from "../../../store.ts";
import { prolong as script } from "../scripts/generated.ts";
import { type Command, milliseconds } from "./command.ts";

/** Keeps the members of the holder's run listed for another lease. */
export const prolong: Command<Claim, void> = {
  script,
  encode: (keys, claim) => ({ keys: keys.slice(0, 5), args: [milliseconds(claim.lease)] }),
  decode() {},
};
