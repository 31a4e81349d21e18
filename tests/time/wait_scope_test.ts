import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { getEventListeners } from "node:events";
import { OVER, UNANSWERED, unlessAborted, WaitScope } from "../../src/time/wait_scope.ts";
import { settled, VirtualClock } from "../support/virtual_clock.ts";

const late = () => new Error("late");

function limit(wait: number, signal?: AbortSignal): { clock: VirtualClock; limit: WaitScope } {
  const clock = new VirtualClock();
  return { clock, limit: new WaitScope(signal, wait, late, clock) };
}

Deno.test("WaitScope without a signal or a time ends nothing, and makes nothing", async () => {
  for (const wait of [0, Infinity]) {
    const { clock, limit: none } = limit(wait);
    assertEquals([none.reached, clock.pending], [undefined, 0]);
    none.check();
    assertEquals(await none.race(Promise.resolve(1)), 1);
    none.end();
  }
});

Deno.test("WaitScope ends the wait after its time, with the error of its maker", async () => {
  const { clock, limit: timed } = limit(100);
  const raced = timed.race(new Promise(() => {})).catch(() => timed.check());
  const rejected = assertRejects(() => raced, Error, "late");
  await clock.advance(99);
  assert(!timed.reached);
  timed.check();
  await clock.advance(1);
  await rejected;
  assert(timed.reached, "reached");
  assertThrows(() => timed.check(), Error, "late");
  await assertRejects(() => timed.race(new Promise(() => {})).catch(() => timed.check()), Error, "late");
});

Deno.test("WaitScope ends the wait with the reason of its signal, whatever that is", async () => {
  for (const reason of [new Error("enough"), "enough", null, 0]) {
    const controller = new AbortController();
    const { limit: cancellable } = limit(100, controller.signal);
    const raced = cancellable.race(new Promise(() => {})).catch(() => cancellable.check());
    const caught = raced.then(() => "nothing", (error: unknown) => error);
    assert(!cancellable.reached, "not yet");
    controller.abort(reason);
    assertEquals(await caught, reason);
    assert(cancellable.reached, "reached");
    cancellable.end();
  }
});

Deno.test("WaitScope is reached from the start when its signal has aborted already", () => {
  const { limit: reached } = limit(100, AbortSignal.abort(new Error("enough")));
  assert(reached.reached, "reached");
  assertThrows(() => reached.check(), Error, "enough");
  reached.end();
});

Deno.test("WaitScope.race() settles like the promise, and ignores a late rejection", async () => {
  const controller = new AbortController();
  const { limit: cancellable } = limit(100, controller.signal);
  assertEquals(await cancellable.race(Promise.resolve(7)), 7);
  await assertRejects(() => cancellable.race(Promise.reject(new Error("refused"))), Error, "refused");
  const { promise, reject } = Promise.withResolvers<never>();
  const raced = assertRejects(() => cancellable.race(promise).catch(() => cancellable.check()), Error, "enough");
  controller.abort(new Error("enough"));
  await raced;
  reject(new Error("nobody is there to handle this"));
  await settled();
  cancellable.end();
});

Deno.test("WaitScope keeps the first of two ends", async () => {
  const controller = new AbortController();
  const { clock, limit: both } = limit(100, controller.signal);
  await clock.advance(100);
  controller.abort(new Error("enough"));
  assertThrows(() => both.check(), Error, "late");
  both.end();
});

Deno.test("WaitScope.abandon() ends a race but not the wait", async () => {
  const { limit: none } = limit(0);
  const raced = none.race(new Promise(() => {})).then(() => "nothing", (error: unknown) => error);
  none.abandon();
  assertEquals(await raced, UNANSWERED);
  assert(!none.reached, "not over");
  assertEquals(await none.race(Promise.resolve(1)), 1);
  none.end();
});

Deno.test("WaitScope.race() that outlasts the time ends with the promise or the signal", async () => {
  for (const end of ["promise", "signal"] as const) {
    const clock = new VirtualClock();
    const controller = new AbortController();
    const scope = new WaitScope(controller.signal, 50, () => new Error("late"), clock);
    const { promise, resolve } = Promise.withResolvers<string>();
    let settledAs: unknown = "pending";
    scope.race(promise, () => true).then((value) => settledAs = value, (error) => settledAs = error);
    await clock.advance(60);
    assertEquals([settledAs, scope.reached], ["pending", "time"]);
    if (end === "promise") resolve("answer");
    else controller.abort("enough");
    await settled();
    assertEquals(settledAs, end === "promise" ? "answer" : OVER);
    assertEquals(scope.reached, end === "promise" ? "time" : "signal");
    assertEquals(await scope.race(new Promise(() => {})).catch((error) => error), OVER);
    scope.end();
  }
});

Deno.test("WaitScope.undo() waits for a second at most, and leaves no timer", async () => {
  for (const [by, outlasts, ms] of [["time", true, 1_000], ["time", false, 0], ["signal", true, 0]] as const) {
    const clock = new VirtualClock();
    const controller = new AbortController();
    const scope = new WaitScope(controller.signal, 50, () => new Error("late"), clock);
    if (by === "signal") controller.abort();
    await clock.advance(50);
    const undone = scope.undo(new Promise(() => {}), () => outlasts).then(() => clock.now().monotonic);
    const began = clock.now().monotonic;
    await clock.advance(ms);
    assertEquals(await undone - began, ms);
    assertEquals(clock.pending, 0);
    scope.end();
  }
});

Deno.test("WaitScope.step() aborts its signal when the wait is over, or in tidy()", async () => {
  const controller = new AbortController();
  const { limit: cancellable } = limit(0, controller.signal);
  let done: AbortSignal | undefined;
  await cancellable.step((signal) => {
    done = signal;
    assert(!signal.aborted, "not while it runs");
    return Promise.resolve();
  });
  assert(!done?.aborted, "the next attempt comes first");
  cancellable.tidy();
  assert(done?.aborted, "what the step has begun ends with it");

  const waiting = cancellable.step((signal) =>
    new Promise((resolve) => signal.addEventListener("abort", () => resolve()))
  );
  controller.abort();
  await waiting;
  await cancellable.step(() => Promise.reject(new Error("not run when the wait is over")));
  cancellable.end();
});

Deno.test("WaitScope inside a step ends by its time or its signal, as the one around it", async () => {
  for (const [by, message] of [["time", "late"], ["signal", "enough"]] as const) {
    const controller = new AbortController();
    const { clock, limit: around } = limit(100, controller.signal);
    const inside: WaitScope[] = [];
    const step = around.step(async (signal) => {
      const inner = new WaitScope(signal, Infinity, () => new Error("inner"), clock);
      await inner.race(new Promise(() => {})).catch(() => {});
      inside.push(inner, new WaitScope(signal, Infinity, () => new Error("inner"), clock));
    });
    await settled();
    if (by === "time") await clock.advance(100);
    else controller.abort(new Error("enough"));
    await step;
    assertEquals([around, ...inside].map(({ reached }) => reached), [by, by, by]);
    for (const scope of [around, ...inside]) {
      assertThrows(() => scope.check(), Error, message);
      scope.end();
    }
  }
});

Deno.test("WaitScope inside a step keeps its own end when the one around it ends later", async () => {
  const { clock, limit: around } = limit(100);
  await Promise.all([
    around.step(async (signal) => {
      const inner = new WaitScope(signal, 50, () => new Error("inner"), clock);
      await inner.race(new Promise(() => {})).catch(() => {});
      await clock.sleep(200);
      assertThrows(() => inner.check(), Error, "inner");
      inner.end();
    }),
    clock.advance(300),
  ]);
  assertEquals([around.reached, clock.pending], ["time", 0]);
  around.end();
});

Deno.test("WaitScope.end() leaves neither a timer nor a listener", async () => {
  const { signal } = new AbortController();
  const { clock, limit: both } = limit(100, signal);
  for (let i = 0; i < 20; i++) await both.race(Promise.resolve());
  for (let i = 0; i < 20; i++) await both.step(() => Promise.resolve());
  both.tidy();
  assertEquals([clock.pending, getEventListeners(signal, "abort").length], [1, 1]);
  both.end();
  assertEquals([clock.pending, getEventListeners(signal, "abort").length], [0, 0]);
});

Deno.test("WaitScope.step() ends the step before, and end() the last one", async () => {
  const { limit: none } = limit(0);
  const signals: AbortSignal[] = [];
  for (let i = 0; i < 2; i++) {
    await none.step((signal) => {
      signals.push(signal);
      return Promise.resolve();
    });
  }
  assertEquals(signals.map(({ aborted }) => aborted), [true, false]);
  none.end();
  assertEquals(signals.map(({ aborted }) => aborted), [true, true]);
});

Deno.test("unlessAborted() settles like the promise, and leaves no listener", async () => {
  const { signal } = new AbortController();
  assertEquals(await unlessAborted(Promise.resolve(7), signal), 7);
  await assertRejects(() => unlessAborted(Promise.reject(new Error("refused")), signal), Error, "refused");
  assertEquals(getEventListeners(signal, "abort").length, 0);
});

Deno.test("unlessAborted() rejects with the reason of its signal, now or later", async () => {
  const { promise, reject } = Promise.withResolvers<never>();
  await assertRejects(() => unlessAborted(promise, AbortSignal.abort(new Error("enough"))), Error, "enough");
  const controller = new AbortController();
  const rejected = assertRejects(() => unlessAborted(promise, controller.signal), Error, "enough");
  await settled();
  controller.abort(new Error("enough"));
  await rejected;
  assertEquals(getEventListeners(controller.signal, "abort").length, 0);
  reject(new Error("nobody is there to handle this"));
  await settled();
});
