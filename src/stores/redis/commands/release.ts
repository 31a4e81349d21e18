import { type Claim, handleOf } from "../../../store.ts";
import { release as script } from "../scripts/generated.ts";
import { type Command, decodeFlag, milliseconds } from "./command.ts";

/** Releases the lock of a handle, or removes its waiter; replies whether there was anything to release. */
export const release: Command<Claim, boolean> = {
  script,
  encode: (keys, claim) => ({ keys: keys.slice(0, 5), args: [handleOf(claim), milliseconds(claim.lease)] }),
  decode: decodeFlag,
};
