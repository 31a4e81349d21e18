import { assertEquals } from "@std/assert";
import { trackCalls } from "../../src/supervise/track_calls.ts";
import { claimOf } from "../../../../tests/support/claims.ts";
import { granted, hanging, ScriptedStore, unreachable } from "../../../../tests/support/scripted_store.ts";
import { settled, VirtualClock } from "../../../../tests/support/virtual_clock.ts";

/** A store whose answers are in the hands of a test, and what its calls are waited for with. */
function scene() {
  const clock = new VirtualClock();
  const scripted = new ScriptedStore(clock);
  const { store, idle } = trackCalls(scripted);
  let isIdle = false;
  /** Begins to wait, for so many milliseconds at the most. */
  const wait = (ms = 1_000) => void idle(ms, clock).then(() => isIdle = true);
  return { clock, scripted, store, wait, isIdle: () => isIdle };
}

Deno.test("trackCalls() waits for a release that follows an attempt which is answered late", async () => {
  const { clock, scripted, store, wait, isIdle } = scene();
  const [attempt, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  scripted.onAttempt = () => attempt.promise.then(() => granted(1n));
  scripted.onRelease = () => release.promise.then(() => true);
  const claim = claimOf("a");
  // What an acquisition does whose wait has ended meanwhile.
  void store.attempt(claim, { enqueue: true }).then(() => store.release(claim));
  wait();
  await settled();
  assertEquals(isIdle(), false);
  attempt.resolve();
  await settled();
  assertEquals([isIdle(), scripted.calls.map(({ operation }) => operation)], [false, ["attempt", "release"]]);
  release.resolve();
  await settled();
  assertEquals([isIdle(), clock.pending], [true, 0]);
});

Deno.test("trackCalls() waits no longer than it may, and not for renewals", async () => {
  const { clock, scripted, store, wait, isIdle } = scene();
  scripted.onRelease = hanging;
  scripted.onRenew = hanging;
  void store.renew(claimOf("a"));
  wait();
  await settled();
  assertEquals(isIdle(), true);
  const second = scene();
  second.scripted.onRelease = hanging;
  void second.store.release(claimOf("a"));
  second.wait(300);
  await second.clock.advance(299);
  assertEquals(second.isIdle(), false);
  await second.clock.advance(1);
  await settled();
  assertEquals([second.isIdle(), second.clock.pending, clock.pending], [true, 0, 0]);
});

Deno.test("trackCalls() forgets calls that have failed, and passes their errors on", async () => {
  const { scripted, store, wait, isIdle } = scene();
  scripted.onAttempt = unreachable;
  const failed = store.attempt(claimOf("a"), { enqueue: true }).catch((error) => error.message);
  wait();
  await settled();
  assertEquals([await failed, isIdle()], ["connection refused", true]);
});

Deno.test("trackCalls() hands nothing on, and has the state of its store", () => {
  const scripted = Object.assign(new ScriptedStore(new VirtualClock()), { capabilities: ["runs", "steal", "query"] });
  const { store } = trackCalls(scripted as ScriptedStore);
  assertEquals([store.capabilities, store.wakeup, store.closed], [["steal"], undefined, false]);
  scripted.closed = true;
  scripted.connectionError = new Error("refused");
  assertEquals([store.closed, store.connectionError?.message], [true, "refused"]);
  assertEquals(trackCalls({ ...scripted, closed: undefined } as unknown as ScriptedStore).store.closed, false);
});
