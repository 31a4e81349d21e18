import { assert } from "@std/assert";
import { acquire, type Lock, type LockTarget, type Store } from "@holdfast/lock";
import { HANG_MS, until } from "../support/until.ts";
import { microtasks } from "./scene.ts";

/**
 * An object through which this process hands on the locks of one place; a custom store itself is a stranger's to
 * evict().
 */
export type LockObject = readonly [what: string, target: LockTarget, options?: { readonly evicts: false }];

/** The ways in which an object takes a lock away from its holders; `undefined` where it cannot. */
const REVOCATIONS: Readonly<
  Record<string, (target: LockTarget, name: string) => Promise<Lock | undefined> | undefined>
> = {
  steal: (target, name) => acquire(target, name, { steal: true, wait: HANG_MS }),
  evict: (target, name) => (target as Partial<Store>).evict?.(name).then(() => undefined),
};

let names = 0;

/**
 * Checks for each pair of objects that a revocation through one ends at once what is handed on through the other:
 * before any answer or message can come.
 *
 * @param objects what stands for the same locks
 * @param listing one of them, that lists the waiters of this process
 */
export async function assertEndsAtOnce(objects: readonly LockObject[], listing: Store): Promise<void> {
  for (const [holding, here] of objects) {
    for (const [revoking, through, options] of objects) {
      for (const [how, revoke] of Object.entries(REVOCATIONS)) {
        if (how === "evict" && options?.evicts === false) continue;
        if (how === "steal" && (through as Partial<Store>).capabilities?.includes("steal") === false) continue;
        const scene = `${how} through ${revoking}, handed on through ${holding}`;
        await assertPairEnds(here, listing, (name) => revoke(through, name), scene);
      }
    }
  }
}

async function assertPairEnds(
  here: LockTarget,
  listing: Store,
  revoke: (name: string) => Promise<Lock | undefined> | undefined,
  scene: string,
): Promise<void> {
  const name = `objects ${names++}`;
  const first = await acquire(here, name);
  const granted: Lock[] = [];
  const waiting = Array.from({ length: 4 }, () => acquire(here, name, { strict: false }));
  const all = waiting.map((lock) => lock.then((lock) => void granted.push(lock)));
  // The assertions come first.
  for (const each of all) each.catch(() => {});
  const pending = async () => (await listing.query!({ name })).pending.length;
  await until(async () => await pending() === 4, `they wait: ${scene}`);
  await first.release();
  await until(() => granted.length === 1, `one of them has it: ${scene}`);
  await granted[0]!.release();
  await until(() => granted.length === 2, `it was handed on: ${scene}`);
  const revoking = revoke(name);
  if (revoking !== undefined) {
    revoking.catch(() => {});
    const released = granted[1]!.release().catch(() => {});
    await microtasks(200);
    // The fences of a run follow each other. A store in memory may have granted the lock by now.
    const isHandedOn = granted[2]?.fence === granted[1]!.fence + 1n;
    assert(!isHandedOn, `handed on beside a request to revoke it: ${scene}`);
    await (await revoking)?.release();
    await released;
  } else await granted[1]!.release();
  for (let i = 2; i < 4; i++) {
    await until(() => granted.length > i, `the others are served: ${scene}`);
    assert(granted[i]!.fence > granted[i - 1]!.fence, scene);
    // A steal takes two trips: one that was granted the lock between them has lost it.
    await granted[i]!.release().catch(() => {});
  }
  await Promise.all(all);
  await until(async () => {
    const { held, pending } = await listing.query!({ name });
    return held.length + pending.length === 0;
  }, `nothing is left: ${scene}`);
}
