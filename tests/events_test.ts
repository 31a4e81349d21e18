import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { type LockEvent, LockLostError } from "@holdfast/lock";
import { acquireFrom } from "../src/acquisition.ts";
import { notify } from "../src/events.ts";
import { checkAcquireOptions } from "../src/options.ts";
import { busy, granted, inTurn, ScriptedStore, unreachable } from "./support/scripted_store.ts";
import { VirtualClock } from "./support/virtual_clock.ts";

Deno.test("notify() calls the observer, if any, and ignores what it throws", () => {
  const event: LockEvent = { type: "waiting", name: "a", owner: "me" };
  const heard: LockEvent[] = [];
  notify(undefined, event);
  notify((event) => heard.push(event), event);
  assertEquals(heard, [event]);
  notify(() => {
    throw new Error("observer");
  }, event);
  // Nothing hears of a promise that rejects: that would end the process.
  notify(() => Promise.reject(new Error("observer")), event);
});

Deno.test("Observer is notified of all events in order, each with name and owner", async () => {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  store.onAttempt = inTurn(() => busy(50), unreachable, () => granted(9n));
  store.onRenew = inTurn(unreachable, () => "renewed");
  const acquiring = acquireFrom(store, "a", checkAcquireOptions({ lease: 900 }), clock);
  await clock.advance(70);
  const lock = await acquiring;
  assert(lock !== null, "granted");
  // It is renewed 300 ms after the grant, in vain, and again an eighth of that later.
  await clock.advance(400);
  await lock.release();
  const { owner } = lock;
  const error = new Error("connection refused");
  const expected: LockEvent[] = [
    { type: "waiting", name: "a", owner },
    { type: "fault", name: "a", owner, operation: "attempt", error },
    { type: "acquired", name: "a", owner, fence: 9n, waited: 70 },
    { type: "fault", name: "a", owner, operation: "renew", error },
    { type: "renewed", name: "a", owner, remaining: 889 },
    { type: "released", name: "a", owner },
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
