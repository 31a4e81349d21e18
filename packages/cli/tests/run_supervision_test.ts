import { assertEquals } from "@std/assert";
import type { Clock } from "../../../src/time/clock.ts";
import { type StopTimes, Supervision, type Watched } from "../src/supervise/supervision.ts";
import { settled, VirtualClock } from "../../../tests/support/virtual_clock.ts";

const LEASE = 30_000;
const TIMES: StopTimes = { graceMs: 5_000, marginMs: 1_000 };

/** A lock whose renewals, and whose loss, are in the hands of a test. */
class TestLock implements Watched {
  readonly #clock: Clock;
  readonly #lost = new AbortController();
  #endsAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.renew();
  }

  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  remaining(): number {
    const left = this.#endsAt - this.#clock.now().monotonic;
    if (left <= 0) this.lose();
    return this.#lost.signal.aborted ? 0 : left;
  }

  renew(): void {
    this.#endsAt = this.#clock.now().monotonic + LEASE;
  }

  lose(): void {
    this.#lost.abort();
  }
}

/** A command that is supervised on a clock that the test moves, and the signals that it gets, each with its moment. */
function scene(times: StopTimes = TIMES) {
  const clock = new VirtualClock();
  const lock = new TestLock(clock);
  const started = clock.now().monotonic;
  const signals: [name: string, after: number][] = [];
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const command = {
    ended,
    alive: true,
    signal: (name: string) => void signals.push([name, clock.now().monotonic - started]),
  };
  const stop = new Supervision(command, lock, { ...times, clock }).watch();
  /** Has the command end, with all that it has started. */
  const endAll = () => {
    command.alive = false;
    end();
  };
  return { clock, lock, command, signals, end, endAll, stop };
}

Deno.test("Supervision leaves a command alone while its lease is renewed", async () => {
  const { clock, lock, signals, endAll, stop } = scene();
  for (let i = 0; i < 50; i++) {
    await clock.advance(LEASE / 3);
    lock.renew();
  }
  endAll();
  assertEquals(await stop, "not stopped");
  assertEquals([signals, clock.pending], [[], 0]);
});

Deno.test("Supervision sends SIGTERM when grace and margin are left of the lease", async () => {
  const { clock, signals, endAll, stop } = scene();
  await clock.advance(LEASE - 6_001);
  assertEquals(signals, []);
  await clock.advance(1);
  assertEquals(signals, [["SIGTERM", 24_000], ["SIGCONT", 24_000]]);
  endAll();
  await clock.advance(20);
  assertEquals(await stop, "stopped");
});

Deno.test("Supervision sends SIGKILL the margin before the lease ends", async () => {
  const { clock, signals, endAll, stop } = scene();
  await clock.advance(LEASE - 1_001);
  assertEquals(signals.length, 2);
  await clock.advance(1);
  assertEquals(signals[2], ["SIGKILL", 29_000]);
  endAll();
  assertEquals(await stop, "killed");
  assertEquals(clock.pending, 0);
});

Deno.test("Supervision sends SIGKILL in time when its first look is late", async () => {
  const { clock, signals, endAll } = scene();
  clock.stall(LEASE - 2_500);
  await clock.advance(1_500);
  assertEquals(signals, [["SIGTERM", 27_500], ["SIGCONT", 27_500], ["SIGKILL", 29_000]]);
  endAll();
  await settled();
});

Deno.test("Supervision gives the whole grace after a revocation", async () => {
  const { clock, lock, signals, endAll, stop } = scene();
  await clock.advance(2_000);
  lock.lose();
  await clock.advance(4_999);
  assertEquals(signals, [["SIGTERM", 2_000], ["SIGCONT", 2_000]]);
  await clock.advance(1);
  assertEquals(signals[2], ["SIGKILL", 7_000]);
  endAll();
  assertEquals(await stop, "killed");
});

Deno.test("Supervision sends SIGKILL at once when it slept through the end of the lease", async () => {
  const { clock, lock, signals, endAll, stop } = scene();
  await clock.advance(1_000);
  clock.stall(LEASE);
  lock.lose();
  assertEquals(signals, [["SIGKILL", 31_000]]);
  endAll();
  assertEquals(await stop, "killed");
});

Deno.test("Supervision sends SIGKILL alone when there is no grace", async () => {
  const { clock, signals, endAll, stop } = scene({ graceMs: 0, marginMs: 1_000 });
  await clock.advance(LEASE - 1_000);
  assertEquals(signals, [["SIGKILL", 29_000]]);
  endAll();
  assertEquals(await stop, "killed");
});

Deno.test("Supervision kills what a stopped command has left behind", async () => {
  const { clock, lock, signals, end, stop } = scene();
  lock.lose();
  end();
  await clock.advance(5_020);
  assertEquals(signals.at(-1), ["SIGKILL", 5_000]);
  assertEquals(await stop, "killed");
});

Deno.test("Supervision ends with the last process of a stopped command", async () => {
  const { clock, lock, command, signals, end, stop } = scene();
  lock.lose();
  end();
  await clock.advance(100);
  command.alive = false;
  await clock.advance(20);
  assertEquals(await stop, "stopped");
  assertEquals([signals.length, clock.pending], [2, 0]);
});

Deno.test("Supervision leaves alone what a command that ended by itself has left behind", async () => {
  const { clock, lock, signals, end, stop } = scene();
  end();
  assertEquals(await stop, "not stopped");
  lock.lose();
  await clock.advance(LEASE);
  assertEquals(signals, []);
});

Deno.test("Supervision carries a stop through although the lease is renewed meanwhile", async () => {
  const { clock, lock, signals, endAll, stop } = scene();
  await clock.advance(LEASE - 6_000);
  lock.renew();
  await clock.advance(5_000);
  assertEquals(signals.at(-1), ["SIGKILL", 29_000]);
  endAll();
  assertEquals(await stop, "killed");
});

Deno.test("Supervision kills a command whose lock was lost before it was watched", async () => {
  const clock = new VirtualClock();
  const lock = new TestLock(clock);
  lock.lose();
  const signals: string[] = [];
  const command = { ended: Promise.resolve(), alive: false, signal: (name: string) => void signals.push(name) };
  assertEquals(await new Supervision(command, lock, { ...TIMES, clock }).watch(), "killed");
  assertEquals(signals, ["SIGKILL"]);
});
