import { assert, assertEquals } from "@std/assert";
import { AnswerTimeouts } from "../../../src/redlock/nodes/answer_timeouts.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

/** A clock, time on it, and how many limits were reached. */
function setup() {
  const clock = new VirtualClock();
  return { clock, time: new AnswerTimeouts(clock), reached: [] as number[] };
}

Deno.test("AnswerTimeouts.timer() runs on time where the event loop is not busy", async () => {
  for (const ms of [1, 4, 16, 50, 300]) {
    const { clock, time, reached } = setup();
    time.timer(ms, () => reached.push(ms));
    await clock.advance(ms - 1);
    assertEquals(reached, []);
    await clock.advance(1);
    assertEquals(reached, [ms]);
    assertEquals(clock.pending, 0);
  }
});

Deno.test("AnswerTimeouts.timer() counts a busy event loop as a moment", async () => {
  const { clock, time, reached } = setup();
  time.timer(50, () => reached.push(50));
  await clock.advance(10);
  clock.stall(60_000);
  await clock.advance(30);
  assertEquals(reached, []);
  await clock.advance(10);
  assertEquals(reached, [50]);
});

Deno.test("AnswerTimeouts.timer() that is late lets arrived answers be read first", async () => {
  const { clock, time, reached } = setup();
  time.timer(50, () => reached.push(50));
  await clock.advance(48);
  clock.stall(60);
  await clock.advance(0);
  assertEquals(reached, []);
  await clock.advance(1);
  assertEquals(reached, [50]);
});

Deno.test("AnswerTimeouts.timer() runs at last on an event loop that is always busy", async () => {
  const { clock, time, reached } = setup();
  time.timer(50, () => reached.push(50));
  let turns = 0;
  for (; reached.length === 0; turns++) {
    assert(turns < 100, "never");
    clock.stall(1_000);
    await clock.advance(0);
  }
  assertEquals(turns, 11);
});

Deno.test("AnswerTimeouts.timer() shares one timer, and leaves none when all are cancelled", async () => {
  const { clock, time, reached } = setup();
  const timers = Array.from({ length: 1_000 }, (_, i) => time.timer(50 + i % 7, () => reached.push(i)));
  assertEquals(clock.pending, 1);
  await clock.advance(20);
  for (const [i, timer] of timers.entries()) if (i > 0) timer.cancel();
  assertEquals(clock.pending, 1);
  timers[0]!.cancel();
  assertEquals(clock.pending, 0);
  assertEquals(reached, []);
});

Deno.test("AnswerTimeouts.timer() that starts and ends within a slice is on time", async () => {
  const { clock, time, reached } = setup();
  time.timer(50, () => reached.push(50));
  await clock.advance(2);
  time.timer(1, () => reached.push(1));
  await clock.advance(1);
  assertEquals(reached, [1]);
  await clock.advance(47);
  assertEquals(reached, [1, 50]);
});

Deno.test("AnswerTimeouts.timer() that starts within a slice is not early", async () => {
  const { clock, time, reached } = setup();
  time.timer(300, () => reached.push(300));
  await clock.advance(4);
  time.timer(50, () => reached.push(50));
  await clock.advance(49);
  assertEquals(reached, []);
  await clock.advance(6);
  assertEquals(reached, [50]);
});

Deno.test("AnswerTimeouts.timer() can be cancelled or made by one that runs just then", async () => {
  const { clock, time, reached } = setup();
  time.timer(10, () => {
    reached.push(1);
    second.cancel();
    time.timer(10, () => reached.push(3));
  });
  const second = time.timer(10, () => reached.push(2));
  await clock.advance(20);
  assertEquals(reached, [1, 3]);
  assertEquals(clock.pending, 0);
});
