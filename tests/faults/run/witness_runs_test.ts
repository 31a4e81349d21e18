// Deno only: it tests a tool for Deno.
import { assert, assertEquals } from "@std/assert";
import { acquireFrom } from "../../../src/lock/acquisition.ts";
import { HandoffCohort } from "../../../src/cohort/cohort.ts";
import { HandoffStore } from "../../../src/handoff/handoff_store.ts";
import type { Lock } from "../../../src/lock/lock.ts";
import { checkAcquireOptions } from "../../../src/lock/options.ts";
import type { Claim, Renewal, Store } from "../../../src/contract/store.ts";
import { MemoryStore } from "../../../src/stores/memory/store.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { Trace } from "./trace.ts";
import { Witness } from "./witness.ts";

const LEASE = 1_000;

/** Stores that hand a lock on inside a process. */
const KINDS = {
  Runs: (store: Store, clock: VirtualClock) => new HandoffStore(store, clock),
  cohort: (store: Store, clock: VirtualClock) => new HandoffCohort(store, clock, { keep: 500, linger: 0 }),
};

/** Two handles of a process that is watched wait behind a rival, which has released. The first one has the lock. */
async function scene(kind: keyof typeof KINDS, spoil: (store: Store) => void = () => {}) {
  const clock = new VirtualClock();
  const kept = new MemoryStore(undefined, clock);
  const now = () => clock.now().monotonic;
  const witness = new Witness(now);
  const rival: Claim = { name: "a", owner: crypto.randomUUID(), mode: "exclusive", lease: LEASE };
  await kept.attempt(rival, { enqueue: false });
  let answer: () => Promise<void> = () => Promise.resolve();
  const renew = kept.renew.bind(kept);
  kept.renew = async (claim): Promise<Renewal> => {
    const renewal = await renew(claim);
    await answer();
    return renewal;
  };
  const store = KINDS[kind](witness.watch(kept), clock);
  spoil(store);
  witness.watchHandles(store);
  const options = checkAcquireOptions({ lease: LEASE, wait: 60_000 });
  const get = async () => {
    const trace = new Trace();
    const lock = await witness.run(trace, () => acquireFrom(store, "a", options, clock)) as Lock;
    assert(witness.granted(trace, "a", lock.fence), "a grant of the store has its fence");
    return { trace, lock };
  };
  const waiting = [get(), get()];
  await clock.advance(0);
  await kept.release(rival);
  // A process hears of a grant by a wake-up, or when it asks again.
  await clock.advance(0);
  const first = await waiting[0]!;
  const fails = () => answer = () => Promise.reject(new Error("reply lost"));
  return { clock, now, kept, first, second: () => waiting[1]!, fails };
}

for (const kind of Object.keys(KINDS) as (keyof typeof KINDS)[]) {
  Deno.test(`Witness knows under which lease a handle of ${kind} holds the lock`, async () => {
    const { clock, now, kept, first, second } = await scene(kind);
    const since = now();
    assertEquals(first.trace.deadline, since + LEASE);
    await clock.advance(50);
    await first.lock.release();
    first.trace.end();
    const { trace, lock } = await second();
    assertEquals(trace.deadline, since + LEASE);
    assertEquals(trace.lease, first.trace.lease);
    assertEquals(first.trace.leftovers("released").map(({ used }) => used?.()).includes(true), true);
    // A renewal of the second one is sent under the id of the first one.
    const renewing = now();
    await lock.extend();
    assertEquals(trace.deadline, renewing + LEASE);
    assertEquals(first.trace.deadline, renewing + LEASE);
    await lock.release();
    await clock.advance(0);
    trace.end();
    assert(trace.lease!.over, "it was given back");
    const ids = new Set(trace.leftovers("released").flatMap(({ ids }) => [...ids]));
    assert(ids.has(trace.lease!.id) && ids.has(lock.owner), "nothing of both must be left");
    assertEquals((await kept.query()).held, []);
  });

  Deno.test(`Witness finds a handle of ${kind} that trusts the lease for too long`, async () => {
    for (const spoiled of [false, true]) {
      const { clock, now, first, second, fails } = await scene(kind, (store) => {
        const attempt = store.attempt.bind(store);
        store.attempt = async (claim, options) => {
          const answer = await attempt(claim, options);
          return answer.granted && spoiled ? { ...answer, age: 0 } : answer;
        };
      });
      await clock.advance(LEASE / 11);
      fails();
      await first.lock.release();
      const { trace, lock } = await second();
      await clock.advance(trace.deadline - now() - 20);
      assertEquals(lock.held, true, "while it may trust it");
      await clock.advance(21);
      assertEquals(lock.held && now() > trace.deadline, spoiled);
      await clock.advance(LEASE);
    }
  });
}

/**
 * Two handles of a process that is watched wait behind a rival. The first one gives up while an attempt of it has no
 * answer yet, and is forgotten. Then it is granted the lock after all, and hands it on to the second one.
 */
async function inherited(spoil: (store: Store) => void = () => {}) {
  const clock = new VirtualClock();
  const kept = new MemoryStore(undefined, clock);
  spoil(kept);
  const now = () => clock.now().monotonic;
  const witness = new Witness(now);
  const rival: Claim = { name: "a", owner: crypto.randomUUID(), mode: "exclusive", lease: LEASE };
  await kept.attempt(rival, { enqueue: false });
  const arriving = Promise.withResolvers<void>();
  const attempt = kept.attempt.bind(kept);
  kept.attempt = async (claim, options) => {
    const answer = await attempt(claim, options);
    if (answer.granted) await arriving.promise;
    return answer;
  };
  const store = witness.watchHandles(new HandoffStore(witness.watch(kept), clock));
  const get = (trace: Trace, signal?: AbortSignal) => {
    const options = checkAcquireOptions({ lease: LEASE, signal });
    return witness.run(trace, () => acquireFrom(store, "a", options, clock)) as Promise<Lock>;
  };
  const abort = new AbortController();
  const [gone, trace] = [new Trace(), new Trace()];
  const refused = get(gone, abort.signal).catch((reason) => reason);
  const granting = get(trace);
  await clock.advance(0);
  await kept.release(rival);
  await clock.advance(0);
  abort.abort("enough");
  assertEquals(await refused, "enough");
  const leftovers = gone.leftovers("aborted");
  witness.forget(gone);
  arriving.resolve();
  await clock.advance(0);
  const lock = await granting;
  assert(witness.granted(trace, "a", lock.fence), "a grant of the store has its fence");
  return { clock, now, lock, trace, leftovers };
}

Deno.test("Witness notes the renewals of a lease that a handle inherits", async () => {
  const { clock, now, lock, trace } = await inherited();
  for (let renewals = 0; renewals < 3; renewals++) {
    await clock.advance(LEASE / 2);
    await lock.extend();
    assertEquals(trace.deadline, now() + LEASE);
  }
  await lock.release();
  assert(trace.lease!.over, "it was given back");
});

Deno.test("Witness finds a handle that trusts a lease that it inherits for too long", async () => {
  for (const spoiled of [false, true]) {
    let failing = false;
    const { clock, now, lock, trace } = await inherited((store) => {
      const renew = store.renew.bind(store);
      const spoiler: Partial<Store> = {
        renew: (claim) => failing ? Promise.reject(new Error("reply lost")) : renew(claim),
        ...(spoiled && { drift: () => -20 }),
      };
      Object.assign(store, spoiler);
    });
    await clock.advance(LEASE / 2);
    await lock.extend();
    failing = true;
    await clock.advance(trace.deadline - now() - 30);
    assertEquals(lock.held, true, "while it may trust it");
    await clock.advance(40);
    assertEquals(lock.held && now() > trace.deadline, spoiled);
    await clock.advance(LEASE);
  }
});

Deno.test("Trace.leftovers() excepts a lease while another handle that inherits it uses it", async () => {
  const { lock, trace, leftovers } = await inherited();
  const used = () => leftovers.map(({ used }) => used?.());
  assertEquals(leftovers.flatMap(({ ids }) => [...ids]), [trace.lease!.id]);
  assertEquals(used(), [true]);
  await lock.release();
  trace.end();
  assertEquals(used(), [false], "from then on nothing may be left");
});

Deno.test("Witness ends a lease when a renewal that shortens it is sent", async () => {
  const clock = new VirtualClock();
  const now = () => clock.now().monotonic;
  const witness = new Witness(now);
  let answer: PromiseWithResolvers<Renewal> | undefined;
  const store = witness.watchHandles(witness.watch({
    attempt: () => Promise.resolve({ granted: true, fence: 7n, fences: 3 }),
    renew: () => (answer = Promise.withResolvers()).promise,
    release: () => Promise.resolve(true),
    drift: () => 0,
  }));
  const claim: Claim = { name: "a", owner: "x", mode: "exclusive", lease: LEASE };
  const trace = new Trace();
  await witness.run(trace, () => store.attempt(claim, { enqueue: true }));
  assertEquals([6n, 9n, 10n].map((fence) => witness.granted(trace, "a", fence)), [false, true, false]);
  const granted = now();
  assertEquals(trace.deadline, granted + LEASE);
  const shorter = store.renew({ ...claim, lease: 100, renewal: 1 });
  assertEquals(trace.deadline, granted + 100);
  const { resolve } = answer!;
  await clock.advance(50);
  const longer = store.renew({ ...claim, renewal: 2 });
  answer!.resolve("renewed");
  await longer;
  assertEquals(trace.deadline, granted + 50 + LEASE);
  // The first one was executed before it, or not at all.
  resolve("renewed");
  await shorter;
  assertEquals(trace.deadline, granted + 50 + LEASE);
  // A renewal that is answered after the end begins another lease, which is not that of this holder.
  const last = store.renew({ ...claim, renewal: 3 });
  await clock.advance(2 * LEASE);
  answer!.resolve("renewed");
  await last;
  assertEquals(trace.deadline, granted + 50 + LEASE);
});
