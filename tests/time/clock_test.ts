import { assert, assertEquals } from "@std/assert";
import { getEventListeners } from "node:events";
import { acquire, LockTimeoutError } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { elapsed, type Instant, MAX_DELAY_MS, monotonicMs, SystemClock, type Timer } from "../../src/time/clock.ts";
import { inTime } from "../support/in_time.ts";
import { settled } from "../support/virtual_clock.ts";

const HOUR = 3_600_000;

/** Longer than any timer of these tests may be late, in milliseconds. */
const LATE = 60_000;

Deno.test("elapsed() is what the faster of the two clocks says", () => {
  const from: Instant = { monotonic: 500, wall: 1_700_000_000_000 };
  const after = (monotonic: number, wall: number) =>
    elapsed(from, { monotonic: from.monotonic + monotonic, wall: from.wall + wall });
  assertEquals(after(0, 0), 0);
  assertEquals(after(20, 20), 20);
  assertEquals(after(20, 20 - HOUR), 20, "the wall clock was set back");
  assertEquals(after(20, 20 + HOUR), 20 + HOUR, "it was set forward");
  assertEquals(after(0, HOUR), HOUR, "the machine was suspended");
});

Deno.test("monotonicMs() does not go by the wall clock", () => {
  const from: Instant = { monotonic: 500, wall: 1_700_000_000_000 };
  for (const set of [-HOUR, 0, HOUR]) assertEquals(monotonicMs(from, { monotonic: 520, wall: from.wall + set }), 20);
});

Deno.test("SystemClock.now() goes on with both clocks of the machine", async () => {
  const clock = new SystemClock();
  const before = Date.now();
  const from = clock.now();
  await clock.sleep(30);
  const to = clock.now();
  assert(to.wall >= before && to.wall < Date.now() + 1, "the wall clock is that of the machine");
  assert(to.monotonic - from.monotonic >= 29, "the monotonic clock went on");
  assert(to.wall - from.wall >= 28, "the wall clock went on");
});

Deno.test("SystemClock.timer() runs timers in the order in which they fall due, none early", async () => {
  const clock = new SystemClock();
  const ran: { ms: number; at: number; earliest: number; latest: number }[] = [];
  const all = [60, 20, 42, 0, 41, 80, 40].map((ms) =>
    new Promise<void>((resolve) => {
      const earliest = performance.now() + ms;
      clock.timer(ms, () => {
        ran.push({ ms, at: performance.now(), earliest, latest });
        resolve();
      });
      // The machine may stand still in between: then it is not known when exactly the timer is due.
      const latest = performance.now() + ms;
    })
  );
  await soon(Promise.all(all));
  for (const { ms, at, earliest } of ran) assert(at >= earliest, `${ms} ms: ${earliest - at} ms early`);
  for (const [i, { ms, earliest }] of ran.entries()) {
    for (const next of ran.slice(i + 1)) assert(earliest <= next.latest, `${ms} ms before ${next.ms} ms`);
  }
});

Deno.test("SystemClock.timer() keeps the order of timers that fell due together", async () => {
  const clock = new SystemClock();
  const ran: number[] = [];
  // The machine may stand still between two of them.
  const from = clock.now();
  const all = [30, 10, 20].map((ms) =>
    new Promise<void>((resolve) => clock.timer(ms, () => resolve(void ran.push(ms)), from))
  );
  occupy(50);
  await soon(Promise.all(all));
  assertEquals(ran, [10, 20, 30]);
});

Deno.test("SystemClock.timer() counts from the moment that it is given", async () => {
  const clock = new SystemClock();
  const ran: string[] = [];
  const all: Promise<void>[] = [];
  const timer = (ms: number, from?: Instant) =>
    all.push(new Promise((resolve) => clock.timer(ms, () => resolve(void ran.push(`${ms}`)), from)));
  {
    using clocks = new StoppedClocks();
    const from = clock.now();
    clocks.add(50);
    timer(80);
    timer(5);
    timer(100, from);
  }
  await soon(Promise.all(all));
  assertEquals(ran, ["5", "100", "80"]);
});

Deno.test("Timer.cancel() keeps the timer from running, also when it is due already", async () => {
  const clock = new SystemClock();
  const ran: string[] = [];
  clock.timer(10, () => ran.push("cancelled")).cancel();
  const last = new Promise<void>((resolve) => {
    const second = () => {
      ran.push("second");
      resolve();
    };
    // Both are due at once; whichever runs first cancels the other.
    const one = clock.timer(10, () => {
      ran.push("one");
      other.cancel();
    });
    const other = clock.timer(10, () => {
      ran.push("other");
      one.cancel();
    });
    clock.timer(30, second);
  });
  occupy(20);
  await soon(last);
  assertEquals(ran, ["one", "second"]);
  const timer = clock.timer(0, () => ran.push("again"));
  timer.cancel();
  timer.cancel();
});

Deno.test("SystemClock.timer() may be called by a timer that runs", async () => {
  const clock = new SystemClock();
  const counted = new Promise<number>((resolve) => {
    const step = (done: number) => {
      if (done === 5) resolve(done);
      else clock.timer(5, () => step(done + 1));
    };
    step(0);
  });
  assertEquals(await soon(counted), 5);
});

Deno.test("SystemClock keeps one real timer for all of its timers, and none without any", async () => {
  using real = new RealTimers();
  const clock = new SystemClock();
  assertEquals(real.live.size, 0);
  {
    using _ = new StoppedClocks();
    const timers = Array.from({ length: 1_000 }, (_, i) => clock.timer(HOUR + i, () => {}));
    assertEquals(real.live.size, 1);
    assertEquals(real.delays.length, 1);
    const sooner = clock.timer(10, () => {});
    assertEquals(real.live.size, 1, "a sooner one takes its place");
    assertEquals(real.delays.at(-1), 10);
    sooner.cancel();
    for (const timer of timers) timer.cancel();
  }
  await settled();
  assertEquals(real.live.size, 0);
  await soon(new Promise<void>((resolve) => clock.timer(10, resolve)));
  await settled();
  assertEquals(real.live.size, 0, "none is left after the last has run");
});

Deno.test("SystemClock.timer() runs no later than it may, however many timers there are", async () => {
  using real = new RealTimers();
  const clock = new SystemClock();
  let timers: Timer[];
  const ran: string[] = [];
  const delays: unknown[] = [];
  const exact = Promise.withResolvers<void>();
  {
    using _ = new StoppedClocks();
    timers = Array.from({ length: 19_999 }, () => clock.timer(HOUR, () => {}));
    timers.push(clock.timer(5, () => ran.push("late"), clock.now(), HOUR));
    delays.push(real.delays.at(-1));
    clock.timer(10, () => exact.resolve(void ran.push("exact")));
    delays.push(real.delays.at(-1));
  }
  await soon(exact.promise);
  for (const timer of timers) timer.cancel();
  // So many may all be 20 ms late, and one that is runs with the next one that may not.
  assertEquals([...delays, ...ran], [20, 10, "late", "exact"]);
  await settled();
});

Deno.test("SystemClock keeps no real timer when a running timer cancels the rest", async () => {
  using real = new RealTimers();
  const clock = new SystemClock();
  const later = clock.timer(HOUR, () => {});
  const cancelled = new Promise<void>((resolve) =>
    clock.timer(10, () => {
      later.cancel();
      resolve();
    })
  );
  await soon(cancelled);
  await settled();
  assertEquals(real.live.size, 0);
});

Deno.test("SystemClock.timer() runs at its time after several real timers", async () => {
  const clock = new SystemClock();
  const began = performance.now();
  await soon(new Promise<void>((resolve) => clock.timer(1_150, resolve)));
  const took = performance.now() - began;
  assert(took >= 1_150, `${took} ms`);
});

Deno.test("SystemClock.timer() takes longer delays than setTimeout does", async () => {
  using real = new RealTimers();
  const clock = new SystemClock();
  let ran = false;
  const timers = [MAX_DELAY_MS, 2 * MAX_DELAY_MS, Infinity].map((ms) => clock.timer(ms, () => ran = true));
  const other = new SystemClock().timer(2 * MAX_DELAY_MS, () => ran = true);
  await soon(new Promise<void>((resolve) => clock.timer(50, resolve)));
  for (const timer of [...timers, other]) timer.cancel();
  assert(!ran, "not yet");
  for (const ms of real.delays) assert(ms !== undefined && ms <= MAX_DELAY_MS, `setTimeout does not take ${ms} ms`);
});

Deno.test("SystemClock.timer() of a lease runs soon after the machine was suspended", async () => {
  using wall = new WallClock();
  const clock = new SystemClock();
  const ran = new Promise<void>((resolve) => clock.timer(HOUR, resolve, clock.now(), HOUR));
  wall.set(2 * HOUR);
  await soon(ran);
});

Deno.test("SystemClock.timer() runs at its time although the wall clock is set back", async () => {
  using wall = new WallClock();
  const clock = new SystemClock();
  const began = performance.now();
  const ran = new Promise<void>((resolve) => clock.timer(30, resolve));
  wall.set(-HOUR);
  await soon(ran);
  assert(performance.now() - began >= 30, "not early");
});

Deno.test("SystemClock.timer() runs at its time although the wall clock is set forward", async () => {
  using wall = new WallClock();
  const clock = new SystemClock();
  const began = performance.now();
  const ran = new Promise<void>((resolve) => clock.timer(1_500, resolve));
  wall.set(HOUR);
  await soon(ran);
  assert(performance.now() - began >= 1_500, "not early");
});

Deno.test("acquire() waits as long as it was told to although the wall clock is set forward", async () => {
  using wall = new WallClock();
  const store = memory();
  // The lease of the holder may end by it.
  const holder = await acquire(store, "a", { lease: 3 * HOUR, strict: false });
  const began = performance.now();
  const waiting = acquire(store, "a", { wait: 1_500 });
  wall.set(HOUR);
  const error = await soon(waiting.catch((error: unknown) => error));
  assert(error instanceof LockTimeoutError && performance.now() - began >= 1_500, `${error}`);
  wall.set(0);
  await holder.release();
});

Deno.test("SystemClock.timer() does not keep the process alive, and sleep() does", async () => {
  const output = await run(`
    clock.timer(60_000, () => console.log("timer"));
    clock.sleep(100).then(() => console.log("slept"));
  `);
  assertEquals(output, "slept\n");
});

Deno.test("sleep() ends with its time or its signal, and leaves no listener", async () => {
  const clock = new SystemClock();
  const controller = new AbortController();
  const { signal } = controller;
  const began = performance.now();
  await clock.sleep(20, signal);
  assert(performance.now() - began >= 19, "not early");
  assertEquals(getEventListeners(signal, "abort").length, 0);

  const sleeping = clock.sleep(HOUR, signal);
  controller.abort();
  await soon(sleeping);
  assertEquals(getEventListeners(signal, "abort").length, 0);
  await soon(clock.sleep(HOUR, signal));
  assertEquals(getEventListeners(signal, "abort").length, 0);
});

/** Settles like the promise, but soon; it keeps the process alive, which the timers of a SystemClock do not. */
function soon<T>(promise: Promise<T>): Promise<T> {
  return inTime(promise, LATE, "what a timer does");
}

/** Keeps the process from running anything else. */
function occupy(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** Runs code with a `clock` in a process of its own, to its end, and gives what it printed. */
async function run(code: string): Promise<string> {
  const clock = new URL("../../src/time/clock.ts", import.meta.url).href;
  const source = `import { SystemClock } from ${JSON.stringify(clock)}; const clock = new SystemClock(); ${code}`;
  const { stdout, stderr, success } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-config", "--no-lock", source],
    stdin: "null",
  }).output();
  assert(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

/** Sets the wall clock of this process while it is in use. */
class WallClock implements Disposable {
  readonly #now = Date.now;

  set(by: number): void {
    Date.now = () => this.#now() + by;
  }

  [Symbol.dispose](): void {
    Date.now = this.#now;
  }
}

/** Stops both clocks of this process while it is in use. */
class StoppedClocks implements Disposable {
  readonly #monotonic = performance.now;
  readonly #wall = Date.now;
  #added = 0;

  constructor() {
    // Whole numbers: what is added is exact.
    const [monotonic, wall] = [Math.floor(performance.now()), Date.now()];
    performance.now = () => monotonic + this.#added;
    Date.now = () => wall + this.#added;
  }

  add(ms: number): void {
    this.#added += ms;
  }

  [Symbol.dispose](): void {
    performance.now = this.#monotonic;
    Date.now = this.#wall;
  }
}

/** Counts the timers that really exist while it is in use. */
class RealTimers implements Disposable {
  readonly live = new Set<unknown>();
  /** Of all that were made. */
  readonly delays: (number | undefined)[] = [];
  readonly #setTimeout = globalThis.setTimeout;
  readonly #clearTimeout = globalThis.clearTimeout;

  constructor() {
    globalThis.setTimeout = Object.assign((run: () => void, ms?: number) => {
      const id = this.#setTimeout(() => {
        this.live.delete(id);
        run();
      }, ms);
      this.live.add(id);
      this.delays.push(ms);
      return id;
    }, this.#setTimeout);
    globalThis.clearTimeout = (id) => {
      this.live.delete(id);
      this.#clearTimeout(id);
    };
  }

  [Symbol.dispose](): void {
    globalThis.setTimeout = this.#setTimeout;
    globalThis.clearTimeout = this.#clearTimeout;
  }
}
