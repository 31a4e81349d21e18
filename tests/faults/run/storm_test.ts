import { assert, assertEquals } from "@std/assert";
import { Random } from "../../simulation/random.ts";
import { type Fault, pause } from "./fault.ts";
import { Storm } from "./storm.ts";

Deno.test("Storm.rage() lets every fault happen, one at a time to each, and takes back the last ones", async () => {
  const over = new AbortController();
  const storm = new Storm();
  const now = { servers: 0, workers: 0, network: 0 };
  const fault = (kind: string, where: Fault["where"], inject: Fault["inject"]): Fault => ({
    kind,
    where,
    breach: false,
    async inject(random, signal, mended) {
      assertEquals(now[where]++, 0, "one at a time");
      try {
        return await inject(random, signal, mended);
      } finally {
        now[where]--;
      }
    },
  });
  const left = new Set(["short", "impossible", "failing", "long"]);
  const counted = (kind: string, where: Fault["where"], inject: Fault["inject"]) =>
    fault(kind, where, (random, signal, mended) => {
      left.delete(kind);
      // Once everything has happened the run is over, while the long one lasts.
      if (left.size === 0) setTimeout(() => over.abort(), 10);
      return inject(random, signal, mended);
    });
  const faults = [
    counted("short", "servers", () => Promise.resolve(true)),
    counted("impossible", "servers", () => Promise.resolve(false)),
    counted("failing", "workers", () => Promise.reject(new Error("no"))),
    counted("long", "network", (_, signal) => pause(60_000, signal).then(() => true)),
  ];
  await storm.rage(faults, new Random(1), over.signal);
  assertEquals(left.size, 0);
  const kinds = storm.happenings.map(({ what }) => what);
  assert(kinds.includes("short") && kinds.includes("long") && !kinds.includes("impossible"), kinds.join());
  assert(storm.failures.every((failure) => failure === "failing: no") && storm.failures.length > 0);
  assertEquals(storm.now, []);
  assert(storm.happenings.every(({ start, end }) => end >= start && end < Infinity));
});
