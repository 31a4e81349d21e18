import { assert } from "@std/assert";
import type { Claim, Conflict, Kind, Store } from "@holdfast/lock";

/** Longer than any test, in milliseconds. */
export const LONG = 60_000;

/** A claim of a new handle; with `owner` it is one of that owner's. */
export function claimOf(
  name: string,
  kind: Kind = "exclusive",
  lease: number = LONG,
  owner: string | undefined = undefined,
): Claim {
  const id = crypto.randomUUID();
  const hold = owner === undefined ? undefined : `${owner}/${id}`;
  const permits = typeof kind === "number" ? { permits: kind } : {};
  return { name, owner: owner ?? id, hold, mode: kind === "shared" ? kind : "exclusive", ...permits, lease };
}

/** Takes the lock, which must be possible, and gives the fence. */
export async function grant(store: Store, claim: Claim, options: { steal?: boolean } = {}): Promise<bigint> {
  const attempt = await store.attempt(claim, { enqueue: false, ...options });
  assert(attempt.granted, "granted");
  return attempt.fence;
}

/** Queues, or asks again, and gives when to ask next. */
export async function ask(store: Store, claim: Claim, enqueue = true): Promise<number> {
  const attempt = await store.attempt(claim, { enqueue });
  assert("retryAfter" in attempt, "busy");
  return attempt.retryAfter;
}

/** Asks in vain, and gives why waiting would be of no use. */
export async function clash(store: Store, claim: Claim, enqueue = true): Promise<Conflict> {
  const attempt = await store.attempt(claim, { enqueue });
  assert("conflict" in attempt, "a conflict");
  return attempt.conflict;
}
