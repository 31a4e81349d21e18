import { assertEquals } from "@std/assert";
import type { LockEvent } from "@holdfast/lock";
import { Counters, type Counts } from "../../../src/dashboard/state/counters.ts";
import { VirtualClock } from "../../../../../tests/support/virtual_clock.ts";

const subject = (name: string) => ({ name, owner: "o", handle: "o", mode: "exclusive" as const });

function acquired(name: string, waited: number): LockEvent {
  return { ...subject(name), type: "acquired", fence: 1n, waited };
}

const NONE: Omit<Counts, "prefix"> = { acquired: 0, meanWait: 0, maxWait: 0, gaveUp: {}, lost: {} };

Deno.test("Counters counts the grants of each prefix, with their waits", () => {
  const counters = new Counters(new VirtualClock());
  for (const event of [acquired("invoice:1", 10), acquired("invoice:2:x", 30), acquired("report", 5)]) {
    counters.note(event);
  }
  assertEquals(counters.read(), [
    { ...NONE, prefix: "", acquired: 1, meanWait: 5, maxWait: 5 },
    { ...NONE, prefix: "invoice:", acquired: 2, meanWait: 20, maxWait: 30 },
  ]);
});

Deno.test("Counters counts what was given up and lost by reason", () => {
  const counters = new Counters(new VirtualClock());
  for (const reason of ["timeout", "timeout", "store"] as const) {
    counters.note({ ...subject("a:1"), type: "gave_up", reason, waited: 1 });
  }
  counters.note({ ...subject("a:1"), type: "lost", reason: "revoked", fence: 1n, held: 1, error: new Error() });
  assertEquals(counters.read(), [{ ...NONE, prefix: "a:", gaveUp: { timeout: 2, store: 1 }, lost: { revoked: 1 } }]);
});

Deno.test("Counters counts nothing of other events", () => {
  const counters = new Counters(new VirtualClock());
  counters.note({ ...subject("a:1"), type: "waiting" });
  counters.note({ ...subject("a:1"), type: "renewed", remaining: 1 });
  assertEquals(counters.read(), []);
});

Deno.test("Counters forgets what is more than an hour ago", () => {
  const clock = new VirtualClock();
  const counters = new Counters(clock);
  counters.note(acquired("a:1", 0));
  clock.stall(40 * 60_000);
  counters.note(acquired("a:1", 0));
  assertEquals(counters.read()[0]?.acquired, 2);
  clock.stall(22 * 60_000);
  assertEquals(counters.read()[0]?.acquired, 1);
  clock.stall(60 * 60_000);
  assertEquals(counters.read(), []);
});

Deno.test("Counters counts together what is beyond 100 prefixes", () => {
  const counters = new Counters(new VirtualClock());
  for (let i = 0; i < 150; i++) counters.note(acquired(`${i}:a`, 0));
  const counts = counters.read();
  assertEquals(counts.length, 101);
  assertEquals(counts.at(-1), { ...NONE, prefix: undefined, acquired: 50 });
});

Deno.test("Counters has room for new prefixes when old ones are forgotten", () => {
  const clock = new VirtualClock();
  const counters = new Counters(clock);
  for (let i = 0; i < 100; i++) counters.note(acquired(`${i}:a`, 0));
  clock.stall(62 * 60_000);
  counters.note(acquired("new:a", 0));
  assertEquals(counters.read().map(({ prefix }) => prefix), ["new:"]);
});
