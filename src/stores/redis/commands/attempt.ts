import { StoreError } from "../../../contract/errors.ts";
import { type Claim, type Conflict, type Granted, handleOf } from "../../../contract/store.ts";
import type { Command } from "./command.ts";
import { decodeBigInt, decodeFlag, decodeKind, decodeNumber, encodeKind, milliseconds } from "./values.ts";
import * as scripts from "../scripts/generated.ts";

/** A handle's wait, as the scripts take it. */
export interface WaiterInput {
  /** The address for wake-ups: PROVABLE or UNPROVABLE, and its channel. */
  readonly address: string;
  /** Its place in the queue, empty before its first attempt. */
  readonly ticket: string;
  /** The group that it waits with; only of an exclusive claim whose owner is fresh. */
  readonly group?: string | undefined;
}

export interface Busy {
  readonly granted: false;
  readonly retryAfter: number;
  /** The handle's place in the queue, empty without one. */
  readonly ticket: string;
  /** When the lock was not stolen: the digests of the holders that were not listed. */
  readonly others?: readonly string[];
}

/** The reply of the granting scripts without a grant. */
export type NotGranted = (Busy | { readonly granted: false; readonly conflict: Conflict }) & {
  /** For how long the lock has been held, see `Vote`: in replies to `vote`. */
  readonly heldFor?: number;
};

/** Decodes the replies that `attempt` and `vote` share. */
export function decodeNotGranted([first, second, third]: readonly unknown[]): NotGranted {
  const present = String(first);
  if (present === ":fence") throw exhausted(String(second));
  const since = third === undefined ? undefined : decodeNumber(third);
  const held = since === undefined ? {} : { heldFor: since < 0 ? Infinity : since };
  if (present.startsWith(":")) {
    return { granted: false, conflict: { present: decodeKind(present), own: decodeFlag(second) }, ...held };
  }
  return { granted: false, retryAfter: decodeNumber(first), ticket: String(second), ...held };
}

/** Returns the error of a script that found no fence above the last. */
export function exhausted(last: string): StoreError {
  return new StoreError(
    `the last fence is ${last}, and there is none above 2^53 - 1: delete the key of the lock that ends in ":fence" if no ` +
      "resource compares its fences",
    { permanent: true },
  );
}

export interface AttemptInput {
  readonly claim: Claim;
  /** How the handle waits when the lock is busy; left out for a handle that does not wait. */
  readonly waiter?: WaiterInput | undefined;
  /** The ids of other waiters of this process, which are as alive as this waiter; not with `steal`. */
  readonly alive?: readonly string[] | undefined;
  /** For a steal: the digests of the handles that may lose the lock. */
  readonly steal?: readonly string[] | undefined;
}

/** Acquires a lock and issues a fence, or joins the queue. */
export const attempt: Command<AttemptInput, Granted | NotGranted> = {
  script: scripts.attempt,
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
      const fence = decodeBigInt(reply);
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

/** Returns whether a claim is for several fences, and may have them: it is exclusive, and its owner is fresh. */
function wantsBlock(claim: Claim): boolean {
  return claim.fences !== undefined && claim.fences > 1 && encodeKind(claim) === "";
}

function decodeGranted([fence, fences, contended, ...run]: readonly unknown[]): Granted {
  return {
    granted: true,
    fence: decodeBigInt(fence),
    fences: decodeNumber(fences),
    contended: decodeFlag(contended),
    run: run.map(String),
  };
}
