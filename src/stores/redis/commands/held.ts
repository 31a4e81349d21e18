import { type Claim, handleOf } from "../../../store.ts";
import { held as script } from "../scripts/generated.ts";
import { type Command, decodeFlag } from "./command.ts";

/** Replies whether a handle holds the lock. */
export const held: Command<Claim, boolean> = {
  script,
  encode: (keys, claim) => ({ keys: keys.slice(0, 4), args: [handleOf(claim)] }),
  decode: decodeFlag,
};
