import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { acquire, type Claim, type Lock, type LockEvent, LockLostError, type LossReason } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { acquireFrom } from "../../src/lock/acquisition.ts";
import { notify } from "../../src/internal/process/notify.ts";
import { checkAcquireOptions } from "../../src/lock/options.ts";
import { busy, granted, hanging, inTurn, ScriptedStore, unreachable } from "../support/scripted_store.ts";
import process from "node:process";
import { settled, VirtualClock } from "../support/virtual_clock.ts";
import { warningsOf } from "../support/warnings.ts";

Deno.test("notify() calls the observer, if any, and warns once of what it throws", async () => {
  const claim: Claim = { name: "a", owner: "me", handle: "me/1", mode: "exclusive", permits: 2, lease: 1_000 };
  const heard: LockEvent[] = [];
  notify({}, claim, { type: "waiting" });
  notify({ observer: (event) => heard.push({ ...event }) }, claim, { type: "waiting" });
  assertEquals(heard, [{ type: "waiting", name: "a", owner: "me", handle: "me/1", mode: "exclusive", permits: 2 }]);
  const observer = () => {
    throw new Error("observer");
  };
  // If nothing heard of a promise that rejects, that would end the process.
  const rejecting = () => Promise.reject(new Error("rejected"));
  const warnings = await warningsOf(async () => {
    for (const each of [rejecting, rejecting, observer, observer]) {
      notify({ observer: each }, claim, { type: "waiting" });
      await settled();
    }
  });
  // Other runtimes run all tests in one process, in which another one may have had it warn.
  const hasWarned = warnings.length === 0 && process.versions["deno"] === undefined;
  assertEquals(warnings, hasWarned ? [] : ["The observer of a store has thrown, which is ignored: rejected"]);
});

Deno.test("LockEvent is written as JSON, a fence and an error as text", () => {
  const claim: Claim = { name: "a", owner: "me", handle: undefined, mode: "shared", permits: undefined, lease: 1_000 };
  const heard: LockEvent[] = [];
  const observer = (event: LockEvent) => heard.push(event);
  notify({ observer }, claim, { type: "acquired", fence: 2n ** 60n, waited: 5 });
  notify({ observer }, claim, { type: "fault", operation: "renew", error: new TypeError("no route") });
  const subject = { name: "a", owner: "me", handle: "me", mode: "shared" };
  assertEquals(heard.map((event) => JSON.parse(JSON.stringify(event))), [
    { ...subject, type: "acquired", fence: "1152921504606846976", waited: 5 },
    { ...subject, type: "fault", operation: "renew", error: "TypeError: no route" },
  ]);
  assertEquals(Object.keys(heard[0]!).toSorted(), [
    "fence",
    "handle",
    "mode",
    "name",
    "owner",
    "permits",
    "type",
    "waited",
  ]);
});

Deno.test("Observer is notified of all events in order, each with name and owner", async () => {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  const error = new Error("connection refused");
  const fail = () => Promise.reject(error);
  store.onAttempt = inTurn(() => busy(50), fail, () => granted(9n));
  store.onRenew = inTurn(fail, () => "renewed");
  const acquiring = acquireFrom(store, "a", checkAcquireOptions({ lease: 900 }), clock);
  await clock.advance(70);
  const lock = await acquiring;
  assert(lock !== null, "granted");
  // It is renewed 300 ms after the grant, in vain, and again an eighth of that later.
  await clock.advance(400);
  await lock.release();
  const { owner } = lock;
  const who = { name: "a", owner, handle: owner, mode: "exclusive", permits: undefined } as const;
  const expected: LockEvent[] = [
    { type: "waiting", ...who },
    { type: "fault", ...who, operation: "attempt", error },
    { type: "acquired", ...who, fence: 9n, waited: 70 },
    { type: "fault", ...who, operation: "renew", error },
    { type: "renewed", ...who, remaining: 889 },
    { type: "released", ...who, fence: 9n, held: 400 },
  ];
  assertEquals(store.events, expected);
});

Deno.test("Observer is notified of a loss once, with the error of the signal", async () => {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  store.onRenew = () => "lost";
  const lock = await acquireFrom(store, "a", checkAcquireOptions({ lease: 900 }), clock);
  assert(lock !== null, "granted");
  await clock.advance(5_000);
  assertEquals(lock.held, false);
  await assertRejects(() => lock.release(), LockLostError);
  assertEquals(store.eventTypes, ["acquired", "lost"]);
  const event = store.events.at(-1);
  assert(event?.type === "lost", "the last event");
  assertInstanceOf(event.error, LockLostError);
  assertEquals([event.error, event.name, event.owner], [lock.signal.reason, "a", lock.owner]);
  assertEquals([event.reason, event.fence, event.held], ["missing", 1n, 300]);
});

Deno.test("Observer is notified of each release that fails", async () => {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  store.onRelease = inTurn(unreachable, () => true);
  const lock = await acquireFrom(store, "a", checkAcquireOptions(), clock);
  const releasing = lock?.release();
  await clock.advance(1_000);
  await releasing;
  const [fault, released] = store.events.slice(1);
  assert(fault?.type === "fault" && fault.operation === "release", "a fault");
  assertEquals(released?.type, "released");
});

/** How a lock is lost, by a store that has granted it for 900 ms. */
interface Loss {
  readonly what: string;
  readonly reason: LossReason;
  /** After how many milliseconds it is noticed. */
  readonly held: number;
  readonly renew?: boolean;
  readonly prepare?: (store: ScriptedStore, clock: VirtualClock) => void;
  /** What its holder does, if it does not just wait. */
  readonly act?: (lock: Lock, clock: VirtualClock) => unknown;
}

const losses: readonly Loss[] = [
  { what: "it is not renewed", reason: "expired", held: 889, renew: false },
  { what: "renewals fail", reason: "expired", held: 889, prepare: (store) => store.onRenew = unreachable },
  { what: "renewals are not answered", reason: "expired", held: 889, prepare: (store) => store.onRenew = hanging },
  {
    what: "its process has slept",
    reason: "expired",
    held: 5_000,
    act: (lock, clock) => {
      clock.stall(5_000);
      assertEquals(lock.held, false);
    },
  },
  { what: "a renewal finds nothing", reason: "missing", held: 300, prepare: (store) => store.onRenew = () => "lost" },
  {
    what: "the release finds nothing",
    reason: "missing",
    held: 100,
    prepare: (store) => store.onRelease = () => false,
    act: async (lock, clock) => {
      await clock.advance(100);
      await lock.release().catch(() => {});
    },
  },
  {
    what: "the store reports it",
    reason: "revoked",
    held: 200,
    prepare: (store, clock) => Object.assign(store, { revocation: () => clock.sleep(200) }),
    act: (lock) => lock.signal,
  },
];

Deno.test("Observer is notified once why a lock was lost, and of no release after that", async () => {
  for (const { what, reason, held, renew = true, prepare, act } of losses) {
    const clock = new VirtualClock();
    const store = new ScriptedStore(clock);
    store.onAttempt = () => granted(7n);
    prepare?.(store, clock);
    const lock = await acquireFrom(store, "a", checkAcquireOptions({ lease: 900, renew }), clock);
    assert(lock !== null, "granted");
    await act?.(lock, clock);
    await clock.advance(10_000);
    const error = await assertRejects(() => lock.release(), LockLostError);
    await lock[Symbol.asyncDispose]();
    await clock.advance(10_000);
    const events = store.events.filter(({ type }) => type === "lost" || type === "released");
    const who = { name: "a", owner: lock.owner, handle: lock.owner, mode: "exclusive", permits: undefined } as const;
    assertEquals(events, [{ type: "lost", ...who, reason, fence: 7n, held, error }], what);
    assert(error === lock.signal.reason, what);
  }
});

Deno.test("Observer is told how long a lock was held: from its grant to release()", async () => {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  const slow = <T>(answer: T) => async () => {
    await clock.sleep(100);
    return answer;
  };
  store.onAttempt = slow(granted(7n));
  store.onRelease = slow(true);
  const acquiring = acquireFrom(store, "a", checkAcquireOptions({ lease: 9_000 }), clock);
  await clock.advance(100);
  const lock = await acquiring;
  await clock.advance(30);
  const releasing = lock?.release();
  await clock.advance(100);
  await releasing;
  const [acquired, released] = store.events;
  assert(acquired?.type === "acquired" && released?.type === "released", store.eventTypes.join());
  assertEquals([acquired.waited, released.held], [100, 30]);
});

Deno.test("Observer is told how a lock is held, by which handle of which owner", async () => {
  const events: LockEvent[] = [];
  const store = memory({ observer: (event) => void events.push(event) });
  const kinds = [{ mode: "shared" }, { permits: 3 }, { owner: "me" }] as const;
  for (const kind of kinds) await (await acquire(store, JSON.stringify(kind), kind)).release();
  const shown = events.map(({ type, owner, handle, mode, permits }) => {
    return [type, mode, permits, owner === handle ? "own" : handle.slice(0, owner.length + 1)];
  });
  assertEquals(shown, [
    ...["acquired", "released"].map((type) => [type, "shared", undefined, "own"]),
    ...["acquired", "released"].map((type) => [type, "exclusive", 3, "own"]),
    ...["acquired", "released"].map((type) => [type, "exclusive", undefined, "me/"]),
  ]);
});
