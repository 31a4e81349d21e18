import { assertEquals } from "@std/assert";
import type { Claim } from "../../../src/contract/store.ts";
import type { FileStore } from "../../../src/stores/sqlite/store.ts";
import { ask, claimOf, type Fixture } from "./fixture.ts";

/** Has a store grant the lock to all claims. */
export async function grantAll(store: FileStore, claims: readonly Claim[]): Promise<void> {
  for (const claim of claims) assertEquals(await ask(store, claim), true);
}

/** Has a store grant the lock `name`, unless the claim says otherwise; gives the claim. */
export async function holderOf(store: FileStore, claim: Partial<Claim> = {}): Promise<Claim> {
  const holder = claimOf(claim);
  await grantAll(store, [holder]);
  return holder;
}

/** Has a store put all claims into the queue. */
export async function queueAll(store: FileStore, claims: readonly Claim[]): Promise<void> {
  for (const claim of claims) assertEquals(await ask(store, claim), false);
}

/** Has a waiter sleep in `wakeup()`; gives whether it was woken. */
export function sleeper(store: FileStore, claim: Claim): { woken: boolean; readonly over: AbortController } {
  const sleeper = { woken: false, over: new AbortController() };
  store.wakeup(claim, sleeper.over.signal).then(() => sleeper.woken = true);
  return sleeper;
}

/** Has waiters sleep in `wakeup()`; gives those that were woken, in order. */
export function sleepAll(store: FileStore, claims: readonly Claim[]): Claim[] {
  const woken: Claim[] = [];
  for (const claim of claims) store.wakeup(claim, new AbortController().signal).then(() => woken.push(claim));
  return woken;
}

/** The owners in the queue, as another process sees them. */
export async function pending(fixture: Fixture): Promise<string[]> {
  return (await fixture.a.query()).pending.filter(({ member }) => !member).map(({ owner }) => owner);
}
