import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import { LockTimeoutError, StoreError } from "@holdfast/lock";
import { AttemptHistory } from "../../../src/lock/lease/attempt_history.ts";
import { timeoutError } from "../../../src/lock/lease/held_leases.ts";
import { acquireFrom } from "../../../src/lock/acquisition.ts";
import { checkAcquireOptions } from "../../../src/lock/options.ts";
import { ScriptedStore } from "../../support/scripted_store.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

interface Scene {
  readonly clock: VirtualClock;
  readonly store: ScriptedStore;
  readonly history: AttemptHistory;
}

function scene(): Scene {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  return { clock, store, history: new AttemptHistory(store, "a") };
}

/** So many pauses, one after the other. */
function pauses(history: AttemptHistory, count: number): number[] {
  return Array.from({ length: count }, () => history.nextPauseMs());
}

Deno.test("AttemptHistory.nextPauseMs() is twice as long each time, up to 500 ms", () => {
  assertEquals(pauses(scene().history, 7), [20, 40, 80, 160, 320, 500, 500]);
});

Deno.test("AttemptHistory.nextPauseMs() begins anew once the store has answered", () => {
  const { history } = scene();
  pauses(history, 6);
  history.busy();
  assertEquals(pauses(history, 2), [20, 40]);
});

Deno.test("AttemptHistory.mayRetry() ends 10 s after the first of the faults was sent", async () => {
  const { history, clock } = scene();
  history.failed(new Error("down"), clock.now());
  await clock.advance(9_999);
  history.failed(new Error("down"), clock.now());
  assert(history.mayRetry(clock), "after 9,999 ms");
  await clock.advance(1);
  assert(!history.mayRetry(clock), "after 10,000 ms");
});

Deno.test("AttemptHistory.mayRetry() counts the faults since the store last answered alone", async () => {
  const { history, clock } = scene();
  history.failed(new Error("down"), clock.now());
  await clock.advance(10_000);
  history.busy();
  history.failed(new Error("down"), clock.now());
  assert(history.mayRetry(clock));
});

Deno.test("AttemptHistory.mayRetry() does not go by the wall clock", () => {
  const { history, clock } = scene();
  history.failed(new Error("down"), clock.now());
  clock.setWall(3_600_000);
  assert(history.mayRetry(clock));
});

Deno.test("AttemptHistory.mayRetry() is false unless the last attempt failed", () => {
  const { history, clock } = scene();
  assertEquals(history.mayRetry(clock), false);
  history.failed(new Error("down"), clock.now());
  history.busy();
  assertEquals(history.mayRetry(clock), false);
});

Deno.test("AttemptHistory.mayRetry() is false after a permanent fault", () => {
  const { history, clock } = scene();
  history.failed(new Error("down"), clock.now());
  for (const fault of [new StoreError("NOPERM", { permanent: true }), new TypeError("bad"), new RangeError("bad")]) {
    history.failed(fault, clock.now());
    assertEquals(history.mayRetry(clock), false, String(fault));
  }
  history.failed(new StoreError("LOADING"), clock.now());
  assertEquals(history.mayRetry(clock), true);
});

Deno.test("AttemptHistory.mayRetry() is false when the store was closed", () => {
  const { history, clock, store } = scene();
  history.failed(new Error("down"), clock.now());
  store.closed = true;
  assertEquals(history.mayRetry(clock), false);
});

Deno.test("AttemptHistory.failure() is a StoreError, or the error of a bad argument itself", () => {
  const { history, clock } = scene();
  for (const fault of [new TypeError("bad"), new RangeError("bad")]) {
    history.failed(fault, clock.now());
    assert(history.failure() === fault, String(fault));
  }
  const fault = new Error("down");
  history.failed(fault, clock.now());
  const error = history.failure();
  assertInstanceOf(error, StoreError);
  assertEquals([error.message, error.cause], ['Cannot acquire lock "a": down', fault]);
});

Deno.test("AttemptHistory.timeout() is a StoreError until the store has answered", () => {
  const { history, clock } = scene();
  const silent = history.timeout(50);
  assertInstanceOf(silent, StoreError);
  assertEquals(silent.message, 'Cannot acquire lock "a" within 50 ms: the store did not answer');
  history.failed(new Error("down"), clock.now());
  const failed = history.timeout(50);
  assertInstanceOf(failed, StoreError);
  assertEquals(failed.message, 'Cannot acquire lock "a" within 50 ms: down');
});

Deno.test("AttemptHistory.timeout() is a LockTimeoutError once the store has answered", () => {
  const { history, clock } = scene();
  history.failed(new Error("down"), clock.now());
  history.busy();
  const held = history.timeout(50, " and others");
  assertInstanceOf(held, LockTimeoutError);
  assertEquals(held.message, 'Cannot acquire lock "a" and others within 50 ms: held by another owner');
  assertEquals("cause" in held, false, "the store has answered since it failed");
  const fault = new Error("down");
  history.failed(fault, clock.now());
  const since = history.timeout(50);
  assertInstanceOf(since, LockTimeoutError);
  const words = "held by another owner when the store last answered, since then: down";
  assertEquals([since.message, since.cause], [`Cannot acquire lock "a" within 50 ms: ${words}`, fault]);
});

Deno.test("timeoutError() has the error of the connection as its cause, where it is known", () => {
  const { store } = scene();
  store.connectionError = new Error("ECONNREFUSED");
  assertEquals(timeoutError(store, "a", "Cannot", new Error("down")).cause, store.connectionError);
});

Deno.test("timeoutError() says how to nest only where the store supports owner", async () => {
  const { clock, store } = scene();
  const lock = await acquireFrom(store, "a", checkAcquireOptions({}), clock);
  assertEquals(timeoutError(store, "a", "Cannot").message, "Cannot: held by this process");
  const knowing = Object.assign(store, { capabilities: ["owner"] as const });
  const hint = "Cannot: held by this process; if this call is nested in the holder's, give both the same owner";
  assertEquals(timeoutError(knowing, "a", "Cannot").message, hint);
  assertEquals(timeoutError(knowing, "b", "Cannot").message, "Cannot: held by another owner");
  await lock?.release();
});
