import { assert } from "@std/assert";
import type { Claim, Conflict, Kind, Store } from "@holdfast/lock";

/** Longer than any test, in milliseconds. */
export const LONG = 60_000;

/** Returns a claim of a new handle; with `owner` it is one of that owner's. */
export function claimOf(
  name: string,
  kind: Kind = "exclusive",
  lease: number = LONG,
  owner: string | undefined = undefined,
): Claim {
  const id = crypto.randomUUID();
  const handle = owner === undefined ? undefined : `${owner}/${id}`;
  const permits = typeof kind === "number" ? { permits: kind } : {};
  return { name, owner: owner ?? id, handle, mode: kind === "shared" ? kind : "exclusive", ...permits, lease };
}

/** Takes the lock, which must be possible, and returns the fence. */
export async function grant(store: Store, claim: Claim, options: { steal?: boolean } = {}): Promise<bigint> {
  const attempt = await store.attempt(claim, { enqueue: false, ...options });
  assert(attempt.granted, "granted");
  return attempt.fence;
}

/** Queues, or asks again, and returns when to ask next. */
export async function ask(store: Store, claim: Claim, enqueue = true): Promise<number> {
  const attempt = await store.attempt(claim, { enqueue });
  assert(!attempt.granted && "retryAfter" in attempt, "busy");
  return attempt.retryAfter;
}

/** Asks, which must end in a conflict, and returns that. */
export async function clash(store: Store, claim: Claim, enqueue = true): Promise<Conflict> {
  const attempt = await store.attempt(claim, { enqueue });
  assert(!attempt.granted && "conflict" in attempt, "a conflict");
  return attempt.conflict;
}
