import { StoreError } from "../../../errors.ts";
import type { Conflict } from "../../../store.ts";
import { decodeKind } from "./kind.ts";

/** How a handle waits. */
export interface WaiterInput {
  /** How the server reaches it: PROVABLE or UNPROVABLE, and its channel. */
  readonly address: string;
  /** Its place in the queue, empty when it has none yet. */
  readonly ticket: string;
  /** The group that it waits with; only of an exclusive claim whose owner is fresh. */
  readonly group?: string | undefined;
}

/** The lock is busy. */
export interface Busy {
  readonly granted: false;
  /** When to ask again, in milliseconds. */
  readonly retryAfter: number;
  /** The place in the queue, empty when the handle has none. */
  readonly ticket: string;
  /** When the lock was not stolen: the digests of the holders that were not named. */
  readonly others?: readonly string[];
}

/** What the scripts that grant the lock reply when they do not. */
export type NotGranted = (Busy | { readonly granted: false; readonly conflict: Conflict }) & {
  /** For how long the lock has been held, see `Vote`: in replies to `vote`. */
  readonly heldFor?: number;
};

/** Decodes the replies that `attempt` and `vote` have in common. */
export function decodeNotGranted([first, second, third]: readonly unknown[]): NotGranted {
  const present = String(first);
  if (present === ":fence") throw exhausted(String(second));
  const held = third === undefined ? {} : { heldFor: Number(third) < 0 ? Infinity : Number(third) };
  if (present.startsWith(":")) {
    return { granted: false, conflict: { present: decodeKind(present), own: Number(second) === 1 }, ...held };
  }
  return { granted: false, retryAfter: Number(first), ticket: String(second), ...held };
}

/** Returns the error of a script that found no fence above the last one. */
export function exhausted(last: string): StoreError {
  return new StoreError(
    `the last fence is ${last}, and there is none above 2^53 - 1: delete the key of the lock that ends in ":fence" if no ` +
      "resource compares its fences",
    { permanent: true },
  );
}
