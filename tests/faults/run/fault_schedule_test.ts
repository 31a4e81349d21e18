// Deno only: it tests a tool for Deno.
import { assert, assertEquals } from "@std/assert";
import { Random } from "../../simulation/kernel/random.ts";
import { type Fault, pause } from "./fault.ts";
import { FaultSchedule } from "./fault_schedule.ts";

Deno.test("FaultSchedule.run() injects every fault, one at a time to each, and ends them", async () => {
  const over = new AbortController();
  const schedule = new FaultSchedule();
  const now: Record<string, number> = {};
  const fault = (kind: string, where: string, inject: Fault["inject"]): Fault => ({
    kind,
    where,
    breach: false,
    async inject(random, signal, endBreach) {
      assertEquals(now[where] ?? 0, 0, "one at a time");
      now[where] = 1;
      try {
        return await inject(random, signal, endBreach);
      } finally {
        now[where] = 0;
      }
    },
  });
  const left = new Set(["short", "impossible", "failing", "long"]);
  const counted = (kind: string, where: string, inject: Fault["inject"]) =>
    fault(kind, where, (random, signal, endBreach) => {
      left.delete(kind);
      // Once everything has happened the run is over, while the long one lasts.
      if (left.size === 0) setTimeout(() => over.abort(), 10);
      return inject(random, signal, endBreach);
    });
  const faults = [
    counted("short", "servers", () => Promise.resolve(true)),
    counted("impossible", "servers", () => Promise.resolve(false)),
    counted("failing", "workers", () => Promise.reject(new Error("no"))),
    counted("long", "network", (_, signal) => pause(60_000, signal).then(() => true)),
  ];
  await schedule.run(faults, new Random(1), over.signal);
  assertEquals(left.size, 0);
  const kinds = schedule.happenings.map(({ what }) => what);
  assert(kinds.includes("short") && kinds.includes("long") && !kinds.includes("impossible"), kinds.join());
  assert(schedule.failures.every((failure) => failure === "failing: no") && schedule.failures.length > 0);
  assertEquals(schedule.now, []);
  assert(schedule.happenings.every(({ start, end }) => end >= start && end < Infinity));
});
