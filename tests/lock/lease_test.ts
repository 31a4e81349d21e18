import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { LockLostError, StoreError } from "@holdfast/lock";
import { getEventListeners } from "node:events";
import { type Instant, SystemClock } from "../../src/time/clock.ts";
import { leasesOf } from "../../src/lock/lease/held_leases.ts";
import { Lease } from "../../src/lock/lease.ts";
import { type AcquireOptions, checkAcquireOptions } from "../../src/lock/options.ts";
import type { Claim, Renewal, Store } from "../../src/contract/store.ts";
import { hanging, inTurn, ScriptedStore, unreachable } from "../support/scripted_store.ts";
import { until } from "../support/until.ts";
import { settled, VirtualClock } from "../support/virtual_clock.ts";

const HOUR = 3_600_000;

const renewed = (): Renewal => "renewed";
const lost = (): Renewal => "lost";

interface Scene {
  readonly clock: VirtualClock;
  readonly store: ScriptedStore;
  readonly lease: Lease;
}

/** A lease whose request is sent at 0, and has no answer yet. */
function requested(options: AcquireOptions = {}, allowance: Partial<Pick<Store, "drift">> = {}): Scene {
  const clock = new VirtualClock();
  const store = Object.assign(new ScriptedStore(clock), allowance);
  const settings = checkAcquireOptions(options);
  const claim = { name: "a", owner: crypto.randomUUID(), mode: settings.mode, lease: settings.lease };
  return { clock, store, lease: new Lease(store, claim, settings, clock.now(), clock) };
}

/** A lease whose request was sent at 0 and, `answeredAfter` milliseconds later, granted. */
function scene(options: AcquireOptions = {}, answeredAfter = 0, allowance: Partial<Pick<Store, "drift">> = {}): Scene {
  const { clock, store, lease } = requested(options, allowance);
  clock.stall(answeredAfter);
  assert(lease.begin(1n), "the lease begins");
  return { clock, store, lease };
}

/** Whether the lease is lost, as its holder can see it, and nothing else goes on. */
function assertLost({ clock, lease, store }: Scene): void {
  assertEquals([lease.held, lease.remaining, lease.signal.aborted, clock.pending], [false, 0, true, 0]);
  assertInstanceOf(lease.lostAt(), LockLostError);
  assertEquals(lease.signal.reason, lease.lostAt());
  assertEquals(store.eventTypes.filter((type) => type === "lost").length, 1);
}

Deno.test("Lease counts its deadline from before the request was sent, less the drift", async () => {
  // 1 % and 2 ms: 1,000 ms are trusted for 988.
  const late = scene({ lease: 1_000, renew: false }, 400);
  assertEquals(late.lease.remaining, 588);
  await late.clock.advance(587);
  assertEquals([late.lease.held, late.lease.remaining, late.lease.signal.aborted], [true, 1, false]);
  await late.clock.advance(1);
  assertLost(late);
});

Deno.test("Lease aborts at its deadline although its timer was made later than the request", async () => {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  const settings = checkAcquireOptions({ lease: 1_000, renew: false });
  const sentAt = clock.now();
  clock.stall(400);
  const lease = new Lease(store, { name: "a", owner: "me", mode: "exclusive", lease: 1_000 }, settings, sentAt, clock);
  assert(lease.begin(1n));
  const { signal } = lease;
  await clock.advance(587);
  assertEquals(signal.aborted, false);
  await clock.advance(1);
  assertEquals(signal.aborted, true);
});

Deno.test("Lease.begin() refuses a grant that comes after the deadline", () => {
  for (const [after, begins] of [[987, true], [988, false], [5_000, false]] as const) {
    const clock = new VirtualClock();
    const store = new ScriptedStore(clock);
    const settings = checkAcquireOptions({ lease: 1_000 });
    const lease = new Lease(
      store,
      { name: "a", owner: "me", mode: "exclusive", lease: 1_000 },
      settings,
      clock.now(),
      clock,
    );
    clock.stall(after);
    assertEquals(lease.begin(1n), begins);
    assertEquals(clock.pending, begins ? 1 : 0);
    assertEquals(store.eventTypes, [], "what never began is not lost");
  }
});

Deno.test("Lease.begin() with an age has the deadline and the next renewal come earlier", async () => {
  const { clock, store, lease } = requested({ lease: 900 });
  clock.stall(50);
  assert(lease.begin(1n, 200));
  assertEquals(lease.remaining, 889 - 250);
  await clock.advance(49);
  assertEquals(store.times("renew"), []);
  await clock.advance(1);
  assertEquals([store.times("renew"), lease.remaining], [[100], 889], "a third of the lease after that had begun");
  await clock.advance(300);
  assertEquals(store.times("renew"), [100, 400], "a renewal has no age");
  lease.end();
  assertEquals(clock.pending, 0);
});

Deno.test("Lease.begin() with an age above its interval renews the lease at once", async () => {
  const { clock, store, lease } = requested({ lease: 900 });
  assert(lease.begin(1n, 600));
  await clock.advance(0);
  assertEquals([store.times("renew"), lease.remaining], [[0], 889]);
  lease.end();
});

Deno.test("Lease aborts at a deadline that counts the age, also without renewals", async () => {
  const { clock, lease, ...all } = requested({ lease: 900, renew: false });
  assert(lease.begin(1n, 200));
  const { signal } = lease;
  await clock.advance(688);
  assertEquals([signal.aborted, lease.held], [false, true]);
  await clock.advance(1);
  assertEquals(signal.aborted, true, "by its timer");
  assertLost({ ...all, clock, lease });
});

Deno.test("Lease.begin() refuses a grant whose age is all that was trusted", () => {
  for (const [age, begins] of [[588, true], [589, false], [900, false]] as const) {
    const { clock, store, lease } = requested({ lease: 900 });
    clock.stall(300);
    assertEquals(lease.begin(1n, age), begins);
    assertEquals([clock.pending, lease.held], begins ? [1, true] : [0, false]);
    assertEquals(store.eventTypes, [], "what never began is not lost");
  }
});

Deno.test("Lease is renewed every third of it, and each renewal moves the deadline", async () => {
  const { clock, store, lease } = scene({ lease: 900 });
  await clock.advance(299);
  assertEquals(store.times("renew"), []);
  await clock.advance(1);
  assertEquals([store.times("renew"), lease.remaining], [[300], 889]);
  await clock.advance(90_000 - 300);
  assertEquals(store.times("renew"), Array.from({ length: 300 }, (_, i) => (i + 1) * 300));
  assertEquals([lease.held, lease.remaining], [true, 889]);
  const { owner } = lease.claim;
  const who = { name: "a", owner, handle: owner, mode: "exclusive", permits: undefined } as const;
  assertEquals(store.events.at(-1), { type: "renewed", ...who, remaining: 889 });
  lease.end();
  assertEquals(clock.pending, 0);
});

Deno.test("Lease counts a renewal from when it was sent, not from its answer", async () => {
  const { clock, store, lease } = scene({ lease: 900 });
  const { promise, resolve } = Promise.withResolvers<Renewal>();
  store.onRenew = () => promise;
  await clock.advance(500);
  assertEquals(lease.remaining, 889 - 500, "not before the answer");
  resolve("renewed");
  await settled();
  assertEquals(lease.remaining, 889 - 200);
  lease.end();
});

Deno.test("renew: a number is the interval between renewals, false means none", async () => {
  const often = scene({ lease: 1_000, renew: 50 });
  await often.clock.advance(220);
  assertEquals(often.store.times("renew"), [50, 100, 150, 200]);
  often.lease.end();

  const never = scene({ lease: 1_000, renew: false });
  await never.clock.advance(988);
  assertEquals(never.store.calls, []);
  assertLost(never);
});

Deno.test("Lease is renewed in time although its interval is nearly the trusted time", async () => {
  for (const renew of [990, 999]) {
    const { clock, store, lease } = scene({ lease: 1_000, renew });
    await clock.advance(1_000);
    assertEquals(store.times("renew"), [494, 988], "half of what the lease is trusted for");
    assert(lease.held, "it is held");
    lease.end();
  }
  const { clock, lease } = scene({ lease: 1_000 }, 0, { drift: () => 700 });
  await clock.advance(1_000);
  assert(lease.held, "it is held");
  lease.end();
});

Deno.test("Lease aborts at once when the store says that it is lost", async () => {
  const all = scene({ lease: 900 });
  all.store.onRenew = inTurn(renewed, lost);
  const { signal } = all.lease;
  await all.clock.advance(599);
  assertEquals(signal.aborted, false);
  await all.clock.advance(1);
  assertEquals(signal.aborted, true);
  assertLost(all);
  await all.clock.advance(HOUR);
  assertEquals(all.store.times("renew"), [300, 600]);
});

Deno.test("Lease survives a renewal that fails, and retries after a part of the interval", async () => {
  for (const failures of [1, 2, 3]) {
    const { clock, store, lease } = scene({ lease: 900 });
    store.onRenew = inTurn(...Array(failures).fill(unreachable), renewed);
    await clock.advance(899);
    assert(lease.held && !lease.signal.aborted, `held after ${failures} failures`);
    const [first, second] = store.times("renew");
    assert(second! - first! >= 10 && second! - first! < 300, "soon, but not at once");
    assertEquals(store.eventTypes.slice(0, failures + 1), [...Array(failures).fill("fault"), "renewed"]);
    const renewedAt = store.times("renew")[failures]!;
    await clock.advance(renewedAt + 300 - 899);
    assertEquals(store.times("renew").at(-1), renewedAt + 300, "then at the usual interval");
    lease.end();
  }
});

Deno.test("Lease tries again as soon after a failure as after one before it", async () => {
  const { clock, store, lease } = scene({ lease: 900 });
  store.onRenew = inTurn(unreachable, unreachable, renewed, unreachable, renewed);
  await clock.advance(1_000);
  const [first, second, , fourth, fifth] = store.times("renew");
  assertEquals(fifth! - fourth!, second! - first!);
  lease.end();
});

Deno.test("Lease survives one failure also when the interval is nearly all of it", async () => {
  const { clock, store, lease } = scene({ lease: 1_000, renew: 900 });
  store.onRenew = inTurn(unreachable, renewed);
  await clock.advance(1_500);
  assert(lease.held, "there were 88 ms left to try again");
  lease.end();
});

Deno.test("Lease on a store that fails or hangs makes few calls, and ends at its deadline", async () => {
  for (const [lease, most] of [[50, 12], [30_000, 30]] as const) {
    for (const answer of [unreachable, hanging]) {
      const all = scene({ lease });
      all.store.onRenew = answer;
      const trusted = lease - lease / 100 - 2;
      await all.clock.advance(Math.floor(trusted));
      assert(all.lease.held || trusted % 1 === 0, "held until then");
      await all.clock.advance(1);
      assertLost(all);
      await all.clock.advance(HOUR);
      const tries = all.store.times("renew").length;
      assert(tries >= 1 && tries <= most, `${tries} renewals of a lease of ${lease} ms`);
    }
  }
});

Deno.test("Lease of 50 ms that is held makes one renewal per interval, failures aside", async () => {
  const { clock, store, lease } = scene({ lease: 50 });
  let calls = 0;
  // Every other call fails: one more try for each interval, after an eighth of it.
  store.onRenew = () => calls++ % 2 === 0 ? unreachable() : "renewed";
  await clock.advance(10_000);
  assert(lease.held, "held");
  const tries = store.times("renew").length;
  assert(tries > 600 && tries <= 2 * 10_000 / (50 / 3), `${tries} renewals`);
  lease.end();
});

Deno.test("Lease is lost at the deadline while a renewal is pending", async () => {
  const all = scene({ lease: 900 });
  const { promise, resolve } = Promise.withResolvers<Renewal>();
  all.store.onRenew = () => promise;
  await all.clock.advance(888);
  assertEquals([all.store.times("renew"), all.lease.held], [[300], true]);
  await all.clock.advance(1);
  assertLost(all);
  resolve("renewed");
  await settled();
  assertLost(all);
  assertEquals(all.store.eventTypes, ["fault", "lost"]);
});

Deno.test("Lease reports a fault when a renewal is not answered until the next one is due", async () => {
  const all = scene({ lease: 9_000 });
  all.store.connectionError = new Error("connect ECONNREFUSED");
  all.store.onRenew = hanging;
  await all.clock.advance(3_000 + 2_953);
  assertEquals(all.store.eventTypes, []);
  await all.clock.advance(1);
  const [fault] = all.store.events;
  assert(fault?.type === "fault" && fault.operation === "renew", "one fault, well before the deadline");
  await all.clock.advance(9_000);
  assertEquals(all.store.eventTypes, ["fault", "lost"]);
  assertLost(all);
  assertEquals(all.lease.lostAt()?.cause, all.store.connectionError);
  assert(all.lease.lostAt()?.message.endsWith("(connect ECONNREFUSED)"), all.lease.lostAt()?.message);
});

Deno.test("Lease that is renewed often gives each renewal a second, if there is time", async () => {
  for (const [lease, after] of [[60_000, 1_000], [1_000, 469]] as const) {
    const { clock, store, lease: often } = scene({ lease, renew: 50 });
    store.onRenew = hanging;
    await clock.advance(50 + after - 1);
    assertEquals(store.eventTypes, []);
    await clock.advance(1);
    assertEquals(store.eventTypes, ["fault"]);
    often.end();
  }
});

Deno.test("Lease that is renewed reports no fault, and forgets an older one", async () => {
  const all = scene({ lease: 900 });
  all.store.onRenew = inTurn(unreachable, renewed, hanging);
  await all.clock.advance(800);
  assertEquals(all.store.eventTypes, ["fault", "renewed"]);
  all.clock.stall(HOUR);
  assertEquals(
    [all.lease.held, all.lease.lostAt()?.cause],
    [false, undefined],
    "the process slept: no fault of the store",
  );
});

Deno.test("Lease reports no fault of a renewal whose answer its process could not read", async () => {
  const all = scene({ lease: HOUR });
  const { promise, resolve } = Promise.withResolvers<Renewal>();
  all.store.onRenew = inTurn(() => promise, hanging);
  await all.clock.advance(HOUR / 3);
  all.clock.stall(HOUR / 3 + 5_000);
  await all.clock.advance(0);
  resolve("renewed");
  await settled();
  assertEquals(all.store.eventTypes, ["renewed"]);
  all.lease.end();
  assertEquals(all.clock.pending, 0);
});

Deno.test("Lease that could not be renewed is lost with the last fault as the cause", async () => {
  const all = scene({ lease: 900 });
  all.store.onRenew = inTurn(() => Promise.reject(new Error("first")), unreachable);
  await all.clock.advance(900);
  assertLost(all);
  const cause = all.lease.lostAt()?.cause;
  assert(cause instanceof Error && cause.message === "connection refused");
});

Deno.test("Lease that ended while the process slept is not held before any timer has run", () => {
  const looks: ((lease: Lease) => boolean)[] = [
    (lease) => !lease.held,
    (lease) => lease.remaining === 0,
    (lease) => lease.signal.aborted,
    (lease) => lease.lostAt() !== undefined,
  ];
  for (const sleep of [889, HOUR]) {
    for (const look of looks) {
      const all = scene({ lease: 900 });
      assert(!look(all.lease), "held");
      all.clock.stall(sleep);
      assert(look(all.lease), `lost: ${look}`);
      assertLost(all);
      assertEquals(all.store.calls, []);
    }
  }
});

Deno.test("Lease that ended while the process slept is lost although a renewal succeeded", async () => {
  const all = scene({ lease: 900 });
  const { promise, resolve } = Promise.withResolvers<Renewal>();
  all.store.onRenew = () => promise;
  await all.clock.advance(300);
  all.clock.stall(600);
  resolve("renewed");
  await settled();
  assertLost(all);
});

Deno.test("Lease that ended while the process slept aborts its signal with the first timer", async () => {
  const all = scene({ lease: 900 });
  const { signal } = all.lease;
  all.clock.stall(HOUR);
  assertEquals(signal.aborted, false);
  await all.clock.advance(0);
  assertEquals(signal.aborted, true);
  assertEquals(all.store.calls, [], "too late to renew");
});

Deno.test("Lease is lost when the wall clock jumps forward, as after a suspension", async () => {
  const all = scene({ lease: 30_000 });
  const { signal } = all.lease;
  all.clock.setWall(HOUR);
  assertLost(all);

  const waiting = scene({ lease: 30_000 });
  const kept = waiting.lease.signal;
  waiting.clock.setWall(HOUR);
  await waiting.clock.advance(10_000);
  assertEquals([signal.aborted, kept.aborted], [true, true], "at the next timer at the latest");
  assertEquals(waiting.store.calls, []);
});

Deno.test("Lease ends by the monotonic clock when the wall clock is set an hour back", async () => {
  const fixed = scene({ lease: 900, renew: false });
  fixed.clock.setWall(-HOUR);
  await fixed.clock.advance(888);
  assert(fixed.lease.held, "not early");
  await fixed.clock.advance(1);
  assertLost(fixed);

  const { clock, store, lease } = scene({ lease: 900 });
  clock.setWall(-HOUR);
  await clock.advance(3_000);
  assertEquals(store.times("renew").length, 10, "renewed all the same");
  assert(lease.remaining <= 889, "never believed longer than the lease");
  lease.end();
});

Deno.test("Lease is never trusted longer than the store keeps it, however the clock jumps", async () => {
  for (const jump of [HOUR, -HOUR, 500, -500]) {
    const { clock, store, lease } = scene({ lease: 900 });
    let keptUntil = 900;
    const now = () => clock.now().monotonic - 1_000;
    store.onRenew = () => {
      if (now() >= keptUntil) return "lost";
      keptUntil = now() + 900;
      return "renewed";
    };
    for (let step = 0; step < 40; step++) {
      if (step % 7 === 3) clock.setWall(jump);
      await clock.advance(100);
      assert(!lease.held || now() + lease.remaining <= keptUntil, `after a jump of ${jump} ms`);
    }
    lease.end();
  }
});

Deno.test("extend() renews now, for longer or shorter, and for good", async () => {
  const { clock, store, lease } = scene({ lease: 900 });
  await clock.advance(100);
  await lease.extend(9_000);
  assertEquals([lease.remaining, lease.claim.lease], [9_000 - 92, 9_000]);
  assertEquals(store.calls.at(-1)?.claim.lease, 9_000);
  await clock.advance(3_000);
  assertEquals(store.times("renew"), [100, 3_100], "the interval is a third of the new lease");
  await lease.extend(90);
  assertEquals(Math.round(lease.remaining), 87);
  await clock.advance(30);
  assertEquals(store.times("renew").at(-1), 3_130);
  await lease.extend();
  assertEquals(store.calls.at(-1)?.claim.lease, 90);
  lease.end();
});

Deno.test("extend() numbers renewals and retries once the length of the lease has changed", async () => {
  const { clock, store, lease } = scene({ lease: 900 });
  const numbers = () => store.calls.map(({ claim }) => [claim.lease, claim.renewal]);
  await clock.advance(300);
  await lease.extend();
  await lease.extend(900);
  assertEquals(numbers(), [[900, undefined], [900, undefined], [900, undefined]], "of one length");
  store.calls.length = 0;
  store.onRenew = inTurn(unreachable, unreachable, renewed);
  await assertRejects(() => lease.extend(9_000), StoreError);
  await clock.advance(700);
  assertEquals(numbers().slice(0, 3), [[9_000, 1], [9_000, 2], [9_000, 3]], "each try is another renewal");
  await lease.extend(900);
  await lease.extend();
  await clock.advance(300);
  assertEquals(numbers().slice(3), [[900, 4], [900, 5], [900, 6]], "also when it is as long as at first");
  lease.end();
});

Deno.test("extend() to another length is not undone by late copies of older renewals", async () => {
  // A store as the contract wants it, and a client that sends each renewal once more, later.
  for (const order of [[9_000, 900], [900, 9_000], [900, 9_000, 900, 9_000]]) {
    const { clock, store, lease } = scene({ lease: 3_000 });
    const now = () => clock.now().monotonic - 1_000;
    let ends = 3_000;
    let last = 0;
    const execute = ({ lease: length, renewal = 0 }: Claim) => {
      if (renewal < last) return;
      [last, ends] = [renewal, now() + length];
    };
    const executed: Claim[] = [];
    store.onRenew = (claim) => {
      execute(claim);
      executed.push(claim);
      return "renewed";
    };
    await clock.advance(1_000);
    for (const length of order) {
      await lease.extend(length);
      for (const claim of executed) {
        await clock.advance(20);
        execute(claim);
        assert(now() + lease.remaining <= ends, `believed until ${now() + lease.remaining}, kept until ${ends}`);
      }
    }
    lease.end();
  }
});

Deno.test("extend() that failed keeps its number, whether the store has executed it or not", async () => {
  for (const executes of [true, false]) {
    const { clock, store, lease } = scene({ lease: 9_000 });
    const now = () => clock.now().monotonic - 1_000;
    let ends = 9_000;
    store.onRenew = (claim) => {
      if (executes) ends = now() + claim.lease;
      return unreachable();
    };
    await clock.advance(100);
    await assertRejects(() => lease.extend(900), StoreError);
    assert(now() + lease.remaining <= ends, "a shorter lease is believed at once");
    await assertRejects(() => lease.extend(9_000), StoreError);
    assert(now() + lease.remaining <= Math.min(ends, 1_000), "a longer one is not before its answer");
    assertEquals(store.calls.map(({ claim }) => claim.renewal), [1, 2]);
    lease.end();
  }
});

Deno.test("extend() keeps an interval that was given, and prolongs a lease without one", async () => {
  const given = scene({ lease: 900, renew: 200 });
  await given.lease.extend(9_000);
  await given.clock.advance(400);
  assertEquals(given.store.times("renew"), [0, 200, 400]);
  given.lease.end();

  const fixed = scene({ lease: 900, renew: false });
  await fixed.clock.advance(500);
  await fixed.lease.extend();
  await fixed.clock.advance(888);
  assert(fixed.lease.held, "held for another lease");
  await fixed.clock.advance(1);
  assertLost(fixed);
  assertEquals(fixed.store.times("renew"), [500]);
});

Deno.test("extend() rejects a bad lease, and sends nothing", async () => {
  const { store, lease } = scene({ lease: 900, renew: 300 });
  for (const length of [NaN, -1, 0, 9, Infinity, 2 ** 31, 299, 300]) {
    const error = await assertRejects(() => lease.extend(length), RangeError);
    assert(error.message.includes("lease") || error.message.includes("renew"), error.message);
  }
  await assertRejects(() => lease.extend("900" as never), TypeError, "lease");
  assertEquals([store.calls, lease.claim.lease, lease.remaining], [[], 900, 889]);
  lease.end();
});

Deno.test("extend() counts a shorter lease from its sending, also when the reply is lost", async () => {
  const all = scene({ lease: 9_000 });
  all.store.onRenew = unreachable;
  await assertRejects(() => all.lease.extend(900), StoreError);
  assertEquals(all.lease.remaining, 889);
  await all.clock.advance(889);
  assertLost(all);

  const pending = scene({ lease: 9_000 });
  pending.store.onRenew = hanging;
  const extending = assertRejects(() => pending.lease.extend(900), LockLostError);
  await pending.clock.advance(1);
  assertEquals(pending.lease.remaining, 888);
  await pending.clock.advance(888);
  assertLost(pending);
  await extending;
});

Deno.test("extend() counts a shorter lease from its sending, not from the renewal before", async () => {
  const { clock, store, lease } = scene({ lease: 9_000 });
  await clock.advance(2_000);
  store.onRenew = hanging;
  const extending = assertRejects(() => lease.extend(900), LockLostError);
  await clock.advance(0);
  assertEquals([lease.held, lease.remaining], [true, 889]);
  lease.end();
  await extending;
});

Deno.test("extend() that the store fails rejects with StoreError, and the lock stays held", async () => {
  const { clock, store, lease } = scene({ lease: 900 });
  store.onRenew = inTurn(unreachable, renewed);
  const error = await assertRejects(() => lease.extend(90_000), StoreError);
  assertEquals([error.code, lease.held, lease.remaining], ["store", true, 889]);
  await clock.advance(1_000);
  assert(lease.held, "it is tried again in time");
  lease.end();
});

Deno.test("extend() waits for the renewal in flight, and for another extend()", async () => {
  const { clock, store, lease } = scene({ lease: 900 });
  const answers = [
    Promise.withResolvers<Renewal>(),
    Promise.withResolvers<Renewal>(),
    Promise.withResolvers<Renewal>(),
  ];
  store.onRenew = inTurn(...answers.map((answer) => () => answer.promise));
  await clock.advance(300);
  const extended: number[] = [];
  const all = [1_800, 2_700].map((length) => lease.extend(length).then(() => extended.push(length)));
  await settled();
  assertEquals(store.calls.map((call) => call.claim.lease), [900], "one renewal at a time");
  answers[0]!.resolve("renewed");
  await settled();
  assertEquals(store.calls.map((call) => call.claim.lease), [900, 1_800]);
  answers[1]!.resolve("renewed");
  await settled();
  assertEquals(store.calls.map((call) => call.claim.lease), [900, 1_800, 2_700]);
  answers[2]!.resolve("renewed");
  await Promise.all(all);
  assertEquals([extended, lease.remaining], [[1_800, 2_700], 2_671]);
  lease.end();
});

Deno.test("Lease is not renewed while extend() is in flight, nor once it has ended", async () => {
  const { clock, store, lease } = scene({ lease: 900 });
  const answer = Promise.withResolvers<Renewal>();
  store.onRenew = () => answer.promise;
  await clock.advance(299);
  const extending = lease.extend(1_800);
  // A renewal becomes due meanwhile.
  await clock.advance(10);
  assertEquals(store.calls.map((call) => call.claim.lease), [1_800]);
  answer.resolve("renewed");
  await extending;
  lease.end();
  await clock.advance(1_800);
  assertEquals([store.calls.length, clock.pending], [1, 0]);
});

Deno.test("Leases that are due together are renewed in one step", async () => {
  const clock = new SystemClock();
  const store = new ScriptedStore(clock);
  const settings = checkAcquireOptions({ lease: 60_000, renew: 50 });
  const sentAt = clock.now();
  // Between their beginnings its two clocks would move on by different fractions, and they would be due apart.
  clock.now = () => sentAt;
  const leases = ["a", "b", "c"].map((name) => {
    const lease = new Lease(store, { name, owner: name, mode: "exclusive", lease: 60_000 }, settings, sentAt, clock);
    lease.begin(1n);
    return lease;
  });
  clock.now = SystemClock.prototype.now;
  const sent: string[] = [];
  store.onRenew = () => {
    sent.push("renewal");
    queueMicrotask(() => sent.push("microtask"));
    return "renewed";
  };
  await until(() => sent.length >= 6, "they are renewed");
  for (const lease of leases) lease.end();
  assertEquals(sent.slice(0, 3), ["renewal", "renewal", "renewal"]);
});

Deno.test("extend() rejects with LockLostError when the lock is lost or was released", async () => {
  const all = scene({ lease: 900 });
  all.store.onRenew = lost;
  const error = await assertRejects(() => all.lease.extend(), LockLostError);
  assertLost(all);
  assertEquals(all.lease.lostAt(), error);
  assertEquals(await assertRejects(() => all.lease.extend(), LockLostError), error);

  const slept = scene({ lease: 900 });
  slept.clock.stall(HOUR);
  await assertRejects(() => slept.lease.extend(), LockLostError);

  const released = scene({ lease: 900 });
  released.lease.end();
  await assertRejects(() => released.lease.extend(), LockLostError, "released");
  assertEquals([all, slept, released].map(({ store }) => store.times("renew").length), [1, 0, 0]);
});

Deno.test("extend() rejects at the deadline while a renewal hangs", async () => {
  const all = scene({ lease: 900 });
  all.store.onRenew = hanging;
  await all.clock.advance(300);
  const waiting = assertRejects(() => all.lease.extend(9_000), LockLostError);
  await all.clock.advance(589);
  await waiting;
  assertLost(all);
});

Deno.test("extend() rejects when the lock is released while a renewal hangs", async () => {
  const [first, second] = [scene({ lease: 900 }), scene({ lease: 900 })];
  first.store.onRenew = second.store.onRenew = hanging;
  const waiting = [first.lease.extend(), first.lease.extend()];
  await second.clock.advance(300);
  waiting.push(second.lease.extend());
  await settled();
  for (const { lease } of [first, second]) lease.end();
  for (const each of waiting) await assertRejects(() => each, LockLostError, "released");
});

Deno.test("extend() without an interval is not retried", async () => {
  const { clock, store, lease } = scene({ lease: 900, renew: false });
  store.onRenew = inTurn(unreachable, renewed);
  await assertRejects(() => lease.extend(), StoreError);
  await clock.advance(888);
  assertEquals([store.times("renew").length, lease.held], [1, true]);
  lease.end();
});

Deno.test("extend() does not watch for revocations", async () => {
  const { store, lease } = scene();
  let watched = 0;
  Object.assign(store, { revocation: () => new Promise(() => watched++) });
  await lease.extend();
  assertEquals(watched, 0);
  assert(!lease.signal.aborted, "whoever reads the signal does");
  assertEquals(watched, 1);
  lease.end();
});

Deno.test("extend() leaves no listener on the signal", async () => {
  const { lease } = scene();
  for (let i = 0; i < 20; i++) await lease.extend();
  assertEquals(getEventListeners(lease.signal, "abort").length, 0);
  lease.end();
});

Deno.test("Lease.end() leaves no timer, aborts nothing and notifies nobody", async () => {
  const { clock, store, lease } = scene({ lease: 900 });
  const { signal } = lease;
  store.onRenew = hanging;
  await clock.advance(400);
  lease.end();
  assertEquals([clock.pending, lease.held, lease.remaining, lease.lostAt()], [0, false, 0, undefined]);
  await clock.advance(HOUR);
  assertEquals([signal.aborted, lease.signal.aborted, store.eventTypes], [false, false, []]);
});

Deno.test("Lease.disown() gives an error before the deadline only", async () => {
  const stolen = scene({ lease: 900 });
  stolen.lease.end();
  assertInstanceOf(stolen.lease.disown(), LockLostError);
  assertLost(stolen);

  const slow = scene({ lease: 900 });
  slow.lease.end();
  await slow.clock.advance(900);
  assertEquals([slow.lease.disown(), slow.store.eventTypes], [undefined, []]);
});

Deno.test("Lease that ended while its process slept is not renewed", async () => {
  const { clock, store, lease } = scene({ lease: 900 });
  await clock.advance(300);
  clock.stall(2_000);
  await clock.advance(0);
  assertEquals([store.times("renew"), lease.held, clock.pending], [[300], false, 0]);
});

Deno.test("Lease is not held any more when its signal aborts", async () => {
  const ends = { "is over": hanging, "is lost": lost };
  for (const [how, onRenew] of Object.entries(ends)) {
    const { clock, store, lease } = scene({ lease: 900 });
    store.onRenew = onRenew;
    const seen: unknown[] = [];
    lease.signal.addEventListener("abort", () => seen.push(lease.held, lease.remaining, lease.lostAt()));
    await clock.advance(1_000);
    assertEquals(seen, [false, 0, lease.signal.reason], how);
    assertEquals(store.eventTypes.filter((type) => type === "lost").length, 1);
  }
});

Deno.test("Lease that its observer ends when it was renewed leaves no timer", async () => {
  const { clock, store, lease } = scene({ lease: 900 });
  store.observer = ({ type }) => {
    if (type === "renewed") lease.end();
  };
  await clock.advance(300);
  assertEquals([store.times("renew"), lease.held, clock.pending], [[300], false, 0]);
});

Deno.test("Lease lets no timer run after its deadline, however many there are", async () => {
  const clock = new VirtualClock();
  const limits: [number, number | undefined][] = [];
  const timer = clock.timer.bind(clock);
  clock.timer = (ms: number, run: () => void, from?: Instant, latest?: number) => {
    limits.push([ms, latest]);
    return timer(ms, run, from);
  };
  const claim: Claim = { name: "a", owner: "me", mode: "exclusive", lease: 1_000 };
  const settings = checkAcquireOptions({ lease: 1_000, renew: 400 });
  const lease = new Lease(new ScriptedStore(clock), claim, settings, clock.now(), clock);
  assert(lease.begin(1n));
  await clock.advance(400);
  lease.end();
  // 988 ms are trusted; the second one is for the answer to the renewal, and may not be late.
  assertEquals(limits, [[400, 988], [588 / 2, undefined], [588, 588], [400, 988]]);
});

Deno.test("Lease is in the list of its store from its beginning to its end", async () => {
  const ends = {
    "released": ({ lease }: Scene) => lease.end(),
    "over": ({ clock }: Scene) => clock.advance(1_000),
  };
  for (const [how, end] of Object.entries(ends)) {
    const all = scene({ lease: 900, renew: false });
    assertEquals([...leasesOf(all.store)], [all.lease]);
    await end(all);
    assertEquals([...leasesOf(all.store)], [], how);
  }
});
