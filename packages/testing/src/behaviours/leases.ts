import { TRY } from "../claims.ts";
import type { Claim, Store } from "@holdfast/lock";
import { elapsed, type Instant } from "../clock.ts";
import type { Behaviours, StoreFixture } from "../fixture.ts";
import { ALIVE_MS, check, claimOf, clock, granted, judge, LONG_MS, tooSlow } from "../expect.ts";

/**
 * The length of a lease that is watched to its end, in milliseconds: more than a second, and no whole number of
 * seconds.
 */
const WATCHED_MS = 1_500;

/** A lease during which a waiter asks several times, in milliseconds. */
const WAITED_MS = 4_000;

/** The part of a lease until which a refusal must be seen. The rest allows for clocks that drift apart. */
const LATEST_PART = 0.95;

/** The part of a lease at which it is first checked without waiters. */
const FIRST_PART = 0.8;

/** The pause between two checks of a lease, in milliseconds. */
const PAUSE_MS = 20;

/** Begins a lease. Resolves to a moment before the request for it was sent. */
type Begin = (store: Store, claim: Claim) => Promise<Instant>;

/** The behaviours of every store about the lengths of its leases. */
export const leases: Behaviours = {
  async "attempt() and renew() keep the lock for all of the lease: no lease ends early"(fixture) {
    const { capabilities = [] } = await fixture.connect();
    const kinds: Partial<Claim>[] = [{}];
    if (capabilities.includes("shared")) kinds.push({ mode: "shared" });
    if (capabilities.includes("permits")) kinds.push({ permits: 1 });
    if (capabilities.includes("owner")) kinds.push({ owner: "me", handle: `me/${crypto.randomUUID()}` });
    const watches = kinds.flatMap((kind) => [watch(fixture, kind, take), watch(fixture, kind, renewed)]);
    watches.push(watch(fixture, {}, takeAgain), watch(fixture, {}, takeLate), wait(fixture));
    // Each runs to its end, also when another one has failed: none may be left behind.
    for (const outcome of await Promise.allSettled(watches)) if (outcome.status === "rejected") throw outcome.reason;
  },

  async "drift() leaves time for clocks that drift apart, and most of the lease"(fixture) {
    const store = await fixture.connect();
    for (const lease of [10, 100, 1_000, 30_000, 3_600_000, 86_400_000]) {
      const drift = store.drift(lease);
      check(drift >= 1, `of ${lease} ms at least the resolution of timers: ${drift}`);
      check(drift < lease / 2, `of ${lease} ms most is left: ${drift}`);
    }
  },
};

async function take(store: Store, claim: Claim): Promise<Instant> {
  const sentAt = clock.now();
  granted(await store.attempt(claim, TRY));
  return sentAt;
}

/** Attempts again in the middle of the lease, as after a lost reply: the full lease begins anew. */
async function takeAgain(store: Store, claim: Claim): Promise<Instant> {
  await take(store, claim);
  await clock.sleep(claim.lease * 0.6);
  return await take(store, claim);
}

/** Sends the first attempt a second time, late: it must not change the lease of a later renewal. */
async function takeLate(store: Store, claim: Claim): Promise<Instant> {
  const first = { ...claim, lease: claim.lease / 3 };
  const begun = await take(store, first);
  const sentAt = clock.now();
  const renewal = await store.renew({ ...claim, renewal: 1 });
  if (renewal === "lost" && elapsed(begun, clock.now()) >= first.lease - store.drift(first.lease)) tooSlow();
  check(renewal === "renewed", "renewed for longer");
  await take(store, first);
  return sentAt;
}

async function renewed(store: Store, claim: Claim): Promise<Instant> {
  await take(store, { ...claim, lease: LONG_MS });
  const sentAt = clock.now();
  check(await store.renew(claim) === "renewed", "renewed");
  return sentAt;
}

/** Checks that other handles are refused until a lease ends. */
async function watch(fixture: StoreFixture, kind: Partial<Claim>, begin: Begin): Promise<void> {
  const [store, rival] = [await fixture.connect(), await fixture.connect()];
  const what = JSON.stringify({ begin: begin.name, mode: kind.mode, permits: kind.permits, owner: kind.owner });
  await judge(async (suffix, tries) => {
    const name = `${what}, ${suffix}`;
    const claim = { ...claimOf(name, WATCHED_MS * tries), ...kind };
    try {
      const sentAt = await begin(store, claim);
      await clock.sleep(FIRST_PART * claim.lease - elapsed(sentAt, clock.now()));
      const { permits } = kind;
      await refused(rival, claim, sentAt, () => ({ ...claimOf(name, LONG_MS), permits }), false);
    } finally {
      await store.release(claim);
    }
  });
}

/** Checks that a waiter is refused until the lease of the holder ends. */
async function wait(fixture: StoreFixture): Promise<void> {
  const [store, rival] = [await fixture.connect(), await fixture.connect()];
  await judge(async (suffix, tries) => {
    const claim = claimOf(`waited for, ${suffix}`, WAITED_MS * tries);
    const waiter = claimOf(claim.name, LONG_MS);
    try {
      await refused(rival, claim, await take(store, claim), () => waiter, true);
    } finally {
      await rival.release(waiter);
      await store.release(claim);
    }
  });
}

/**
 * Attempts again and again, and checks that no grant comes before the lease that was requested at `sentAt` has ended.
 */
async function refused(
  rival: Store,
  { lease }: Claim,
  sentAt: Instant,
  other: () => Claim,
  enqueue: boolean,
): Promise<void> {
  let last = 0;
  for (;;) {
    const claim = other();
    const askedAt = elapsed(sentAt, clock.now());
    const attempt = await rival.attempt(claim, { enqueue });
    // The lease began after `sentAt`. An answer that comes earlier than a lease after it was decided during the lease.
    const during = elapsed(sentAt, clock.now()) < lease - rival.drift(lease);
    if (attempt.granted) await rival.release(claim);
    if (!during) break;
    check(!attempt.granted, `refused ${Math.round(askedAt)} ms into a lease of ${lease} ms: ${claim.name}`);
    last = askedAt;
    await clock.sleep(enqueue ? ALIVE_MS / 4 : PAUSE_MS);
  }
  if (last < LATEST_PART * lease) tooSlow();
}
