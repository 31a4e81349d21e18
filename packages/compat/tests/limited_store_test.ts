import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { type Attempt, type Lock, LockTimeoutError, StoreError } from "@holdfast/lock";
import { getEventListeners } from "node:events";
import { acquireFrom } from "../../../src/lock/acquisition.ts";
import { type AttemptLimits, LimitedStore } from "../src/limited_store.ts";
import { checkAcquireOptions } from "../../../src/lock/options.ts";
import { MemoryStore } from "../../../src/stores/memory/store.ts";
import { busy, granted, inTurn, refused, ScriptedStore, unreachable } from "../../../tests/support/scripted_store.ts";
import { VirtualClock } from "../../../tests/support/virtual_clock.ts";

const LIMITS: AttemptLimits = { attempts: 3, pause: 50, time: Infinity };

interface Scene {
  readonly clock: VirtualClock;
  readonly store: ScriptedStore;
  readonly limited: LimitedStore;
  /** What the call came to so far: the lock, the error, or `"pending"`. */
  readonly result: () => unknown;
}

/** A call with these limits on a store that takes so long to answer. */
function scene(limits: Partial<AttemptLimits>, trip: number, ...answers: (() => Attempt | Promise<Attempt>)[]): Scene {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  const answer = inTurn(...answers);
  store.onAttempt = async () => {
    await clock.sleep(trip);
    return await answer();
  };
  const limited = new LimitedStore(store, { ...LIMITS, ...limits }, clock);
  const settings = checkAcquireOptions({ lease: 60_000, renew: false });
  let result: unknown = "pending";
  limited.run(undefined, (signal) => acquireFrom(limited, "a", { ...settings, signal }, clock)).then(
    (lock) => result = lock,
    (error: unknown) => result = error,
  );
  return { clock, store, limited, result: () => result };
}

const wait = () => busy(5_000);

for (const trip of [0, 2, 60, 300, 9_000]) {
  Deno.test(`LimitedStore counts attempts that take ${trip} ms, and awaits the last one`, async () => {
    const { clock, store, result } = scene({}, trip, wait, wait, () => granted(7n));
    await clock.advance(3 * trip + 99);
    assertEquals(result(), "pending");
    await clock.advance(1);
    assertEquals((result() as Lock).fence, 7n);
    assertEquals(store.times("attempt"), [0, trip + 50, 2 * trip + 100]);
  });

  Deno.test(`LimitedStore ends with the answer to the last attempt, after ${trip} ms`, async () => {
    const { clock, store, limited, result } = scene({}, trip, wait);
    await clock.advance(3 * trip + 99);
    assertEquals(result(), "pending");
    await clock.advance(1);
    const error = result();
    assertInstanceOf(error, LockTimeoutError);
    assertEquals(error.message, 'Cannot acquire lock "a" in 3 attempts: held by another owner');
    assertEquals(limited.refusals, ["busy", "busy", "busy"]);
    assertEquals([store.times("attempt").length, store.calls.at(-1)?.operation, clock.pending], [3, "release", 0]);
  });
}

Deno.test("LimitedStore sends a last attempt when the time is over, and awaits it", async () => {
  const { clock, store, result } = scene({ attempts: Infinity, time: 100 }, 300, wait, () => granted(7n));
  await clock.advance(299);
  assertEquals([result(), store.times("attempt")], ["pending", [0]]);
  await clock.advance(1);
  assertInstanceOf(result(), LockTimeoutError);
  assertEquals((result() as Error).message, 'Cannot acquire lock "a" within 100 ms: held by another owner');

  const late = scene({ attempts: Infinity, time: 500 }, 300, wait, () => granted(7n));
  await late.clock.advance(799);
  assertEquals([late.result(), late.store.times("attempt")], ["pending", [0, 500]]);
  await late.clock.advance(1);
  assertEquals((late.result() as Lock).fence, 7n);
});

Deno.test("LimitedStore leaves it to the queue when any number of attempts is allowed", async () => {
  const { clock, store, limited, result } = scene({ attempts: Infinity }, 0, wait, wait, () => granted(7n));
  await clock.advance(10_000);
  assertEquals([(result() as Lock).fence, store.times("attempt")], [7n, [0, 5_000, 10_000]]);
  assertEquals(limited.refusals, ["busy"]);
});

Deno.test("LimitedStore does not count attempts that wake-ups bring", async () => {
  const { clock, store, limited, result } = scene({}, 0, wait);
  let wake = () => {};
  store.wakeup = () => new Promise((resolve) => wake = resolve);
  await clock.advance(10);
  for (let i = 0; i < 3; i++) {
    wake();
    await clock.advance(10);
  }
  assertEquals([result(), store.times("attempt")], ["pending", [0, 10, 20, 30]]);
  await clock.advance(60);
  assertEquals(store.times("attempt").slice(4), [50, 100]);
  assertInstanceOf(result(), LockTimeoutError);
  assertEquals(limited.refusals.length, 3);
});

Deno.test("LimitedStore with onFault repeats attempts that fail, also for a minute", async () => {
  const faults: unknown[] = [];
  const onFault = (fault: unknown) => void faults.push(fault);
  const { clock, store, result } = scene({ attempts: Infinity, onFault }, 0, unreachable);
  store.wakeup = () => Promise.resolve();
  await clock.advance(60_000);
  assertEquals([result(), faults.length], ["pending", 1_201], "no wake-up ends a pause");
  assertEquals(store.eventTypes.includes("fault"), false);
  store.onAttempt = () => granted(7n);
  await clock.advance(50);
  assertEquals((result() as Lock).fence, 7n);
});

Deno.test("LimitedStore with onFault ends with the last fault, also after a busy answer", async () => {
  const onFault = () => {};
  const failing = scene({ onFault, pause: 0 }, 0, unreachable);
  await failing.clock.advance(40);
  assertInstanceOf(failing.result(), StoreError);
  assertEquals(failing.store.times("attempt"), [0, 20, 40]);
  assert((failing.result() as Error).message.endsWith('"a" in 3 attempts: connection refused'), `${failing.result()}`);

  const later = scene({ onFault }, 0, wait, unreachable);
  await later.clock.advance(100);
  assertInstanceOf(later.result(), LockTimeoutError);
  assert((later.result() as Error).message.endsWith("since then: connection refused"), `${later.result()}`);
});

Deno.test("LimitedStore without onFault leaves faults to acquire()", async () => {
  const patient = scene({ attempts: Infinity }, 0, unreachable);
  await patient.clock.advance(9_000);
  assertEquals(patient.result(), "pending");
  await patient.clock.advance(2_000);
  assertInstanceOf(patient.result(), StoreError);
  const limited = scene({ attempts: Infinity, time: 1_000 }, 0, unreachable);
  await limited.clock.advance(2_000);
  assert((limited.result() as Error).message.includes("within 1000 ms: connection refused"), `${limited.result()}`);
});

Deno.test("LimitedStore does not repeat what retries cannot overcome", async () => {
  const { clock, store, result } = scene({ onFault: () => {} }, 0, refused);
  await clock.advance(1);
  assertInstanceOf(result(), StoreError);
  assertEquals([store.times("attempt").length, clock.pending], [1, 0]);
});

Deno.test("LimitedStore with one attempt does not enter the queue", async () => {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  const enqueued: boolean[] = [];
  store.onAttempt = (_, { enqueue }) => {
    enqueued.push(enqueue);
    return busy(100);
  };
  const limited = new LimitedStore(store, { ...LIMITS, attempts: 1 }, clock);
  const call = limited.run(undefined, (signal) => acquireFrom(limited, "a", settingsOf(signal), clock));
  const error = await assertRejects(() => call, LockTimeoutError);
  assertEquals([error.message, enqueued], ['Cannot acquire lock "a" in 1 attempt: held by another owner', [false]]);
});

Deno.test("LimitedStore.run() rejects with the signal's reason, and leaves no listener", async () => {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  store.onAttempt = wait;
  const controller = new AbortController();
  const limited = new LimitedStore(store, LIMITS, clock);
  const call = limited.run(controller.signal, (signal) => acquireFrom(limited, "a", settingsOf(signal), clock));
  await clock.advance(10);
  controller.abort(new Error("enough"));
  await assertRejects(() => call, Error, "enough");
  assertEquals([limited.over, getEventListeners(controller.signal, "abort").length, clock.pending], [false, 0, 0]);
  await assertRejects(() => limited.run(controller.signal, () => Promise.resolve()), Error, "enough");
  await assertRejects(() => limited.run({} as AbortSignal, () => Promise.resolve()), TypeError, "signal must be");
});

/** A call with three attempts on a store in memory, after another handle holds the lock there. */
async function beside(lease: number) {
  const clock = new VirtualClock();
  const [target, store] = [new MemoryStore(undefined, clock), new ScriptedStore(clock)];
  store.onAttempt = (claim, options) => target.attempt(claim, options);
  store.onRelease = (claim) => target.release(claim);
  const holder = { name: "a", owner: "holder", mode: "exclusive", lease } as const;
  await target.attempt(holder, { enqueue: false });
  const limited = new LimitedStore(store, { ...LIMITS, onFault: () => {} }, clock);
  const call = limited.run(undefined, (signal) => acquireFrom(limited, "a", settingsOf(signal), clock));
  call.catch(() => {});
  return { clock, target, store, holder, limited, call };
}

Deno.test("LimitedStore holds the lock that an attempt was granted whose reply was lost", async () => {
  const { clock, target, store, holder, limited, call } = await beside(60_000);
  await clock.advance(10);
  await target.release(holder);
  let fence: bigint | undefined;
  store.onAttempt = async (claim, options) => {
    const attempt = await target.attempt(claim, options);
    fence = attempt.granted ? attempt.fence : undefined;
    store.onAttempt = (claim, options) => target.attempt(claim, options);
    throw new Error("the connection was cut");
  };
  await clock.advance(90);
  const lock = await call;
  assertEquals([lock?.fence, limited.refusals.length], [fence, 2]);
  await lock?.release();
  assertEquals((await target.query()).held, []);
});

Deno.test("LimitedStore makes the attempts that are left after a minute asleep", async () => {
  const { clock, call } = await beside(30_000);
  await clock.advance(10);
  clock.stall(60_000);
  await clock.advance(0);
  const lock = await call;
  assert(lock?.held);
  await lock?.release();
});

Deno.test("LimitedStore leaves nothing when its last refusal crosses a release", async () => {
  const { clock, target, store, holder, call } = await beside(60_000);
  const { promise, resolve: answer } = Promise.withResolvers<void>();
  await clock.advance(60);
  store.onAttempt = async (claim, options) => {
    const attempt = await target.attempt(claim, options);
    await promise;
    return attempt;
  };
  await clock.advance(50);
  // The lock is reserved for this waiter, which does not know it yet.
  await target.release(holder);
  answer();
  await assertRejects(() => call, LockTimeoutError);
  await clock.advance(1);
  assert((await target.attempt({ ...holder, owner: "next" }, { enqueue: false })).granted);
});

/** The settings of a call without a limit of its own. */
function settingsOf(signal: AbortSignal) {
  return { ...checkAcquireOptions({ lease: 60_000, renew: false }), signal };
}
