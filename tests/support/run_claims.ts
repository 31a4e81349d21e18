import { assert } from "@std/assert";
import { type Attempt, type Claim, type Granted, handleOf, type Store } from "../../src/contract/store.ts";
import { claimOf } from "./claims.ts";

/** Returns claims of one group for the lock. */
export function groupOf(name: string, size: number, lease?: number): Claim[] {
  const group = crypto.randomUUID();
  return Array.from({ length: size }, () => ({ ...claimOf(name, "exclusive", lease), group }));
}

/** Takes the lock, which must be possible; as a waiter does. */
export async function grantOf(store: Store, claim: Claim): Promise<Granted> {
  const attempt: Attempt = await store.attempt(claim, { enqueue: true });
  assert(attempt.granted, "granted");
  return attempt;
}

/** Puts claims into the queue, one after the other. */
export async function queueUp(store: Store, ...claims: Claim[]): Promise<void> {
  for (const claim of claims) assert(!(await store.attempt(claim, { enqueue: true })).granted, "busy");
}

/** Returns the ids of the handles, as a run has them. */
export function handlesOf(claims: readonly Claim[]): string[] {
  return claims.map(handleOf);
}
