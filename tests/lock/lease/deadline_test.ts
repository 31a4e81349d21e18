import { assertEquals } from "@std/assert";
import { Deadline } from "../../../src/lock/lease/deadline.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

Deno.test("Deadline.left() counts from the moment that the request was sent", () => {
  const clock = new VirtualClock();
  const sentAt = clock.now();
  clock.stall(400);
  const deadline = new Deadline(sentAt, 1_000);
  assertEquals(deadline.left(clock.now()), 600);
  clock.stall(600);
  assertEquals(deadline.left(clock.now()), 0);
});

Deno.test("Deadline.left() goes by the clock that has gone further", () => {
  const clock = new VirtualClock();
  const deadline = new Deadline(clock.now(), 1_000);
  clock.setWall(700);
  assertEquals(deadline.left(clock.now()), 300);
  clock.setWall(-5_000);
  assertEquals(deadline.left(clock.now()), 1_000);
});

Deno.test("Deadline.move() sets the deadline forward or back", () => {
  const clock = new VirtualClock();
  const deadline = new Deadline(clock.now(), 1_000);
  clock.stall(500);
  deadline.move(clock.now(), 900);
  assertEquals(deadline.left(clock.now()), 900);
  deadline.move(clock.now(), 100);
  assertEquals(deadline.left(clock.now()), 100);
});

Deno.test("Deadline.shorten() never sets the deadline later", () => {
  const clock = new VirtualClock();
  const deadline = new Deadline(clock.now(), 1_000);
  clock.stall(500);
  deadline.shorten(clock.now(), 600);
  assertEquals(deadline.left(clock.now()), 500);
  deadline.shorten(clock.now(), 400);
  assertEquals(deadline.left(clock.now()), 400);
});
