import { assertEquals } from "@std/assert";
import { getEventListeners } from "node:events";
import { NEXT, RESERVATION_MS, TURN } from "../../../../src/stores/redis/constants.ts";
import { Waiters } from "../../../../src/stores/redis/wakeups/waiters.ts";
import { settled, VirtualClock } from "../../../support/virtual_clock.ts";

const NEVER = new AbortController().signal;

/** Longer than any of these tests, in milliseconds. */
const LONG = 60_000;

function begin(...handles: string[]): { clock: VirtualClock; waiters: Waiters; woken: string[] } {
  const clock = new VirtualClock();
  const waiters = new Waiters(clock);
  for (const handle of handles) {
    waiters.ask(handle);
    waiters.enqueue(handle, "1");
  }
  return { clock, waiters, woken: [] };
}

Deno.test("Waiters.enqueue() notes the ticket of a handle that waits, and of no other", () => {
  const { waiters } = begin();
  assertEquals(waiters.enqueue("a", "7"), false);
  assertEquals(waiters.ask("a"), undefined);
  assertEquals(waiters.ask("a"), "");
  assertEquals(waiters.enqueue("a", "7"), true);
  assertEquals(waiters.enqueue("a", ""), true);
  assertEquals(waiters.ask("a"), "7");
  waiters.remove("a");
  assertEquals([waiters.enqueue("a", "8"), waiters.ask("a")], [false, undefined]);
});

Deno.test("Waiters.remove() forgets one handle, and leaves the others", () => {
  const { waiters } = begin("a", "b");
  waiters.remove("a");
  assertEquals([waiters.ask("a"), waiters.ask("b")], [undefined, "1"]);
  waiters.remove("nobody");
});

Deno.test("Waiters.waiting() is true for as long as a handle may hope for an answer", () => {
  const { clock, waiters } = begin();
  assertEquals(waiters.waiting(), false);
  for (let i = 0; i < 2; i++) {
    waiters.ask("a");
    assertEquals(waiters.waiting(), false, "it has no place yet");
  }
  waiters.enqueue("a", "1");
  assertEquals(waiters.waiting(), true);
  clock.stall(RESERVATION_MS - 1);
  assertEquals(waiters.waiting(), true);
  waiters.ask("a");
  clock.stall(RESERVATION_MS - 1);
  assertEquals(waiters.waiting(), true, "it has asked again");
  waiters.enqueue("a", "1");
  clock.stall(RESERVATION_MS - 1);
  assertEquals(waiters.waiting(), true, "it was answered");
  clock.stall(1);
  assertEquals(waiters.waiting(), false, "its client gets no answer any more");
});

Deno.test("Waiters.waiting() is true while a handle waits for its wake-up", async () => {
  const { clock, waiters } = begin("a", "b");
  const { signal, abort } = controlled();
  const waiting = waiters.wait("b", LONG, signal);
  clock.stall(LONG);
  assertEquals(waiters.waiting(), true);
  abort();
  await waiting;
  assertEquals(waiters.waiting(), false);
});

Deno.test("Waiters.wait() resolves on the turn of its handle alone", async () => {
  const { waiters, woken } = begin("a", "b", "ab");
  for (const handle of ["a", "b", "ab"]) waiters.wait(handle, LONG, NEVER).then(() => woken.push(handle));
  for (const message of ["", TURN, `${TURN}c`, `${TURN}${TURN}a`]) waiters.receive(message);
  await settled();
  assertEquals(woken, []);
  waiters.receive(`${TURN}b`);
  await settled();
  assertEquals(woken, ["b"]);
  waiters.wakeAll();
  await settled();
  assertEquals(woken.sort(), ["a", "ab", "b"]);
});

Deno.test("Waiters.wait() resolves once for a turn that came before it", async () => {
  const { waiters, woken } = begin("a");
  waiters.receive(`${TURN}a`);
  await waiters.wait("a", LONG, NEVER);
  const waiting = waiters.wait("a", LONG, NEVER).then(() => woken.push("a"));
  await settled();
  assertEquals(woken, [], "that turn is over");
  waiters.receive(`${TURN}a`);
  await waiting;
  // It does not wait any more.
  waiters.receive(`${TURN}a`);
  await waiters.wait("a", LONG, NEVER);
});

Deno.test("Waiters.wait() does not resolve for a handle that is new", async () => {
  const { waiters, woken } = begin("a");
  const { signal, abort } = controlled();
  const waiting = waiters.wait("a", LONG, signal).then(() => woken.push("a"));
  await settled();
  assertEquals(woken, []);
  abort();
  await waiting;
});

Deno.test("Waiters.wait() of the next one resolves after its standby", async () => {
  const { clock, waiters, woken } = begin("a");
  const waiting = waiters.wait("a", 100, NEVER).then(() => woken.push("a"));
  waiters.receive(`${NEXT}a`);
  await clock.advance(60);
  waiters.receive(`${NEXT}a`);
  assertEquals(clock.pending, 1, "one timer");
  await clock.advance(99);
  assertEquals(woken, []);
  await clock.advance(1);
  await waiting;
  assertEquals([woken, clock.pending], [["a"], 0]);
});

Deno.test("Waiters.wait() of the next one leaves no timer when its turn comes, or it ends", async () => {
  for (const end of ["turn", "signal"]) {
    const { clock, waiters } = begin("a");
    const { signal, abort } = controlled();
    const waiting = waiters.wait("a", 100, signal);
    waiters.receive(`${NEXT}a`);
    if (end === "turn") waiters.receive(`${TURN}a`);
    else abort();
    await waiting;
    assertEquals(clock.pending, 0);
  }
});

Deno.test("Waiters.wait() does not remember that its handle was the next one", async () => {
  const { clock, waiters, woken } = begin("a");
  waiters.receive(`${NEXT}a`);
  const { signal, abort } = controlled();
  const waiting = waiters.wait("a", 100, signal).then(() => woken.push("a"));
  await clock.advance(LONG);
  assertEquals(woken, []);
  abort();
  await waiting;
});

Deno.test("Waiters.wait() resolves when its signal aborts, or has aborted before", async () => {
  for (const handle of ["a", "unknown"]) {
    const { waiters } = begin("a");
    const { signal, abort } = controlled();
    const waiting = waiters.wait(handle, LONG, signal);
    waiters.receive(`${TURN}unknown`);
    abort();
    await waiting;
    await waiters.wait(handle, LONG, signal);
    assertEquals(waiters.ask(handle), handle === "a" ? "1" : undefined);
    assertEquals(getEventListeners(signal, "abort").length, 0);
  }
});

Deno.test("Waiters.wait() removes its listener when it is woken", async () => {
  const { waiters } = begin("a");
  const { signal } = new AbortController();
  const waiting = waiters.wait("a", LONG, signal);
  assertEquals(getEventListeners(signal, "abort").length, 1);
  waiters.receive(`${TURN}a`);
  await waiting;
  assertEquals(getEventListeners(signal, "abort").length, 0);
});

function controlled(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
