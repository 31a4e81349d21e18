import type { Inspection } from "../../../quorum_node.ts";
import { type Claim, handleOf } from "../../../store.ts";
import { inspect as script } from "../scripts/generated.ts";
import type { Command } from "./command.ts";
import { encodeKind } from "./kind.ts";

/** The states in the order of their numbers in the reply. */
const STATES = ["taken", "free", "held"] as const;

/** Returns the state of the lock of a handle on one node of a quorum. */
export const inspect: Command<Claim, Inspection> = {
  script,
  encode: (keys, claim) => ({ keys, args: [handleOf(claim), encodeKind(claim)] }),
  decode(reply) {
    const [state, counter] = reply as readonly unknown[];
    return { state: STATES[Number(state)]!, counter: BigInt(String(counter)) };
  },
};
