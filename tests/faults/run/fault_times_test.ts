// Deno only: it tests a tool for Deno.
import { assertEquals } from "@std/assert";
import { FaultTimes, type Span } from "./fault_times.ts";

Deno.test("FaultTimes.quiet() leaves out causes and their aftermath, however they overlap", () => {
  const faultTimes = new FaultTimes([{ start: 50, end: 60 }, { start: 10, end: 20 }, { start: 15, end: 17 }], 10);
  assertEquals(faultTimes.quiet(0, 100), 10 + 20 + 30);
  assertEquals(faultTimes.quiet(12, 25), 0);
  assertEquals(faultTimes.quiet(35, 45), 10);
  assertEquals(faultTimes.quiet(65, 75), 5);
  assertEquals(new FaultTimes([], 10).quiet(3, 5), 2);
  assertEquals(new FaultTimes([{ start: 1, end: Infinity }], 10).quiet(0, 5), 1);
});

Deno.test("FaultTimes.free() gives the parts of a time outside causes", () => {
  const free = (causes: Span[]) => new FaultTimes(causes, 0).free({ start: 0, end: 10 });
  const found = free([{ start: -5, end: 1 }, { start: 4, end: 5 }, { start: 9, end: 20 }]);
  assertEquals(found, [{ start: 1, end: 4 }, { start: 5, end: 9 }]);
  assertEquals(free([{ start: -1, end: 11 }]), []);
});
