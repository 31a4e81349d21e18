import { HandoffStore } from "../../src/handoff/handoff_store.ts";
import { HandoffPlace } from "../../src/handoff/place.ts";
import { acquireFrom } from "../../src/lock/acquisition.ts";
import type { Lock } from "../../src/lock/lock.ts";
import { type AcquireOptions, checkAcquireOptions } from "../../src/lock/options.ts";
import type { Attempt, AttemptOptions, Claim, Renewal, Store } from "../../src/contract/store.ts";
import { MemoryStore } from "../../src/stores/memory/store.ts";
import { claimOf } from "../support/claims.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

/** The lease of every handle, unless a test gives another one, in milliseconds. */
export const LEASE = 10_000;

/** A store in memory that notes its calls, and can be told to lose replies or to wait. */
export class Noted extends MemoryStore {
  readonly calls: string[] = [];
  readonly renewals: Claim[] = [];
  /** Is awaited before a call's reply arrives. */
  reply: (call: string, claim: Claim) => void | Promise<void> = () => {};

  override async attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const attempt = await super.attempt(claim, options);
    await this.#replied("attempt", claim);
    return attempt;
  }

  override async renew(claim: Claim): Promise<Renewal> {
    this.renewals.push(claim);
    const renewal = await super.renew(claim);
    await this.#replied("renew", claim);
    return renewal;
  }

  override async release(claim: Claim): Promise<boolean> {
    const released = await super.release(claim);
    await this.#replied("release", claim);
    return released;
  }

  async #replied(call: string, claim: Claim): Promise<void> {
    this.calls.push(call);
    await this.reply(call, claim);
  }
}

/** A store with two processes, and what their handles do in order. */
export function scene() {
  const clock = new VirtualClock();
  const store = new Noted(undefined, clock);
  const here = new HandoffStore(store, clock);
  // Another process knows nothing of what this one hands on.
  const others = new HandoffStore(store, clock, undefined, new HandoffPlace({}));
  const order: string[] = [];
  const get = (from: Store, options: AcquireOptions = {}) =>
    acquireFrom(from, "a", checkAcquireOptions({ lease: LEASE, wait: 60_000, ...options }), clock) as Promise<Lock>;
  /** Begins to wait; the lock is kept until the test releases it. */
  const wait = async (label: string, from: Store = here, options: AcquireOptions = {}) => {
    const lock = get(from, options).then((lock) => {
      order.push(label);
      return lock;
    });
    lock.catch(() => {});
    await clock.advance(0);
    return { lock };
  };
  return { clock, store, here, others, order, get, wait };
}

/** Makes handles of this process wait in a row behind a rival that holds the lock; returns their locks. */
export async function row(count: number, revocations?: "not notified") {
  const all = scene();
  if (revocations !== undefined) all.store.revocation = () => new Promise(() => {});
  const holder = await all.get(all.others);
  const waiters: Promise<Lock>[] = [];
  for (let i = 0; i < count; i++) waiters.push((await all.wait(`${i}`)).lock);
  await holder.release();
  const head = await waiters[0]!;
  all.store.calls.length = 0;
  return { ...all, waiters, head };
}

/** Returns how many handles a store knows. */
export const leftovers = async (store: MemoryStore) => {
  const { held, pending } = await store.query();
  return held.length + pending.length;
};

/** Two handles of one process that wait behind another one, whose lock has just ended. */
export async function pair() {
  const all = scene();
  const claim = () => claimOf("a", "exclusive", LEASE);
  const [other, first, second] = [claim(), claim(), claim()];
  await all.store.attempt(other, { enqueue: true });
  for (const each of [first, second]) await all.here.attempt(each, { enqueue: true });
  await all.store.release(other);
  all.store.calls.length = 0;
  return { ...all, other, first, second };
}
