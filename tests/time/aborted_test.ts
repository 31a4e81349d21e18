// Deno only: it counts the listeners of signals, which workerd does not tell.
import { assertEquals } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { getEventListeners } from "node:events";
import { aborted, calledOrAborted, onAbort } from "../../src/time/aborted.ts";
import { sleep } from "../../src/time/timers.ts";
import { unlessAborted } from "../../src/time/wait_scope.ts";
import { settled } from "../support/virtual_clock.ts";

const countOf = (signal: AbortSignal) => getEventListeners(signal, "abort").length;

Deno.test("onAbort() has one listener for each signal, while there is anything to run", () => {
  const { signal } = new AbortController();
  const removes = Array.from({ length: 20 }, () => onAbort(signal, () => {}));
  assertEquals(countOf(signal), 1);
  for (const remove of removes.splice(1)) remove();
  assertEquals(countOf(signal), 1);
  for (let i = 0; i < 2; i++) removes[0]!();
  assertEquals(countOf(signal), 0);
  onAbort(signal, () => {})();
  assertEquals(countOf(signal), 0);
});

Deno.test("onAbort() runs what was not removed, in its order, also if one removes another", () => {
  const controller = new AbortController();
  const ran: number[] = [];
  const removes = [1, 2, 3, 4].map((n) =>
    onAbort(controller.signal, () => {
      ran.push(n);
      if (n === 1) removes[2]!();
    })
  );
  removes[1]!();
  controller.abort();
  assertEquals(ran, [1, 4]);
  for (const remove of removes) remove();
  assertEquals(countOf(controller.signal), 0);
});

Deno.test("whatever waits with a signal shares its listener, and leaves none", async () => {
  for (const abort of [true, false]) {
    const controller = new AbortController();
    const { signal } = controller;
    const calls: (() => void)[] = [];
    const waits = Array.from({ length: 20 }, () => [
      calledOrAborted(signal, (call) => void calls.push(call)),
      sleep(abort ? 60_000 : 1, signal),
      unlessAborted(abort ? new Promise<void>(() => {}) : Promise.resolve(), signal).catch(() => {}),
      ...abort ? [aborted(signal)] : [],
    ]).flat();
    assertEquals(countOf(signal), 1);
    if (abort) controller.abort();
    for (const call of calls) call();
    await Promise.all(waits);
    assertEquals(countOf(signal), 0);
  }
});

Deno.test("acquire() has one listener on a signal, however many calls wait with it", async () => {
  const { signal } = new AbortController();
  const store = memory();
  const holder = await acquire(store, "a", { signal });
  const waiting = Array.from({ length: 20 }, () => acquire(store, "a", { signal }).then((lock) => lock.release()));
  await settled();
  assertEquals(countOf(signal), 1);
  await holder.release();
  await Promise.all(waiting);
  assertEquals(countOf(signal), 0);
});
