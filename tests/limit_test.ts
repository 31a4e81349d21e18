import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { getEventListeners } from "node:events";
import { Limit } from "../src/_limit.ts";
import { settled, VirtualClock } from "./virtual_clock.ts";

const late = () => new Error("late");

function limit(wait: number, signal?: AbortSignal): { clock: VirtualClock; limit: Limit } {
  const clock = new VirtualClock();
  return { clock, limit: new Limit(signal, wait, late, clock) };
}

Deno.test("Limit without a signal or a time ends nothing, and makes nothing", async () => {
  for (const wait of [0, Infinity]) {
    const { clock, limit: none } = limit(wait);
    assertEquals([none.reached, clock.pending], [false, 0]);
    none.check();
    assertEquals(await none.race(Promise.resolve(1)), 1);
    none.end();
  }
});

Deno.test("Limit ends the wait after its time, with the error of its maker", async () => {
  const { clock, limit: timed } = limit(100);
  const raced = timed.race(new Promise(() => {}));
  const rejected = assertRejects(() => raced, Error, "late");
  await clock.advance(99);
  assert(!timed.reached);
  timed.check();
  await clock.advance(1);
  await rejected;
  assert(timed.reached, "reached");
  assertThrows(() => timed.check(), Error, "late");
  await assertRejects(() => timed.race(new Promise(() => {})), Error, "late");
});

Deno.test("Limit ends the wait with the reason of its signal, whatever that is", async () => {
  for (const reason of [new Error("enough"), "enough", null, 0]) {
    const controller = new AbortController();
    const { limit: cancellable } = limit(100, controller.signal);
    const raced = cancellable.race(new Promise(() => {})).then(() => "nothing", (error: unknown) => error);
    assert(!cancellable.reached, "not yet");
    controller.abort(reason);
    assertEquals(await raced, reason);
    assert(cancellable.reached, "reached");
    cancellable.end();
  }
});

Deno.test("Limit is reached from the start when its signal has aborted already", () => {
  const { limit: reached } = limit(100, AbortSignal.abort(new Error("enough")));
  assert(reached.reached, "reached");
  assertThrows(() => reached.check(), Error, "enough");
  reached.end();
});

Deno.test("Limit.race() settles like the promise, and lets a late rejection go unheard", async () => {
  const controller = new AbortController();
  const { limit: cancellable } = limit(100, controller.signal);
  assertEquals(await cancellable.race(Promise.resolve(7)), 7);
  await assertRejects(() => cancellable.race(Promise.reject(new Error("refused"))), Error, "refused");
  const { promise, reject } = Promise.withResolvers<never>();
  const raced = assertRejects(() => cancellable.race(promise), Error, "enough");
  controller.abort(new Error("enough"));
  await raced;
  reject(new Error("nobody is there to handle this"));
  await settled();
  cancellable.end();
});

Deno.test("Limit.step() tells its step when the wait is over, and tidy() when the step is done", async () => {
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

Deno.test("Limit.end() leaves neither a timer nor a listener", async () => {
  const { signal } = new AbortController();
  const { clock, limit: both } = limit(100, signal);
  using listeners = new Listeners();
  for (let i = 0; i < 20; i++) await both.race(Promise.resolve());
  for (let i = 0; i < 20; i++) await both.step(() => Promise.resolve());
  assert(listeners.added >= 40, "each step listens");
  assertEquals(listeners.count, 1, "that of the last step");
  both.tidy();
  assertEquals(listeners.count, 0);
  assertEquals([clock.pending, getEventListeners(signal, "abort").length], [1, 1]);
  both.end();
  assertEquals([clock.pending, getEventListeners(signal, "abort").length], [0, 0]);
});

/** Counts the listeners that all signals are given and lose while it is in use: that of a Limit is its own. */
class Listeners implements Disposable {
  added = 0;
  count = 0;
  readonly #add = AbortSignal.prototype.addEventListener;
  readonly #remove = AbortSignal.prototype.removeEventListener;

  constructor() {
    const [add, remove] = [this.#add, this.#remove];
    const added = () => [this.added++, this.count++];
    const removed = () => this.count--;
    AbortSignal.prototype.addEventListener = function (...args: Parameters<typeof add>) {
      added();
      add.apply(this, args);
    };
    AbortSignal.prototype.removeEventListener = function (...args: Parameters<typeof remove>) {
      removed();
      remove.apply(this, args);
    };
  }

  [Symbol.dispose](): void {
    AbortSignal.prototype.addEventListener = this.#add;
    AbortSignal.prototype.removeEventListener = this.#remove;
  }
}
