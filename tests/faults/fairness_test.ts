// Deno only: it starts processes of Deno.
import { assertEquals } from "@std/assert";
import { quickest } from "./quickest.ts";
import { Fixture } from "./workers.ts";

const PROCESSES = 5;
const WAITERS = 10;

/** A process that stood still for so long on SQLite may have been passed over, in milliseconds. */
const PASSED_OVER_MS = 1_400;

/** Returns the longest time in which nobody had a turn, in milliseconds, by what sections have written down. */
function longestPause(turns: readonly (readonly string[])[]): number {
  return Math.max(...turns.slice(1).map(([, , at], i) => Number(at) - Number(turns[i]![2])));
}

for (const kind of ["redis", "sqlite"] as const) {
  Deno.test(`acquire() serves ${PROCESSES} processes first come, first served, over ${kind}`, async () => {
    await using fixture = await Fixture.open(kind, { reservesForLong: true });
    const { directory } = fixture;
    Deno.writeTextFileSync(`${directory}/counter`, "0");
    const [holder, workers] = await Promise.all([fixture.worker(), fixture.workers(PROCESSES)]);
    await quickest(PASSED_OVER_MS, async () => {
      Deno.writeTextFileSync(`${directory}/turns`, "");
      await holder.ask({ do: "acquire", name: "a" }, "granted");
      const queue: string[] = [];
      for (let round = 0; round < WAITERS; round++) {
        for (const worker of workers) {
          queue.push((await worker.ask({ do: "sections", name: "a", count: 1, directory }, "waiting")).owner);
        }
      }
      const released = ["", "", `${Date.now()}`];
      await holder.ask({ do: "release", name: "a" }, "released");
      for (let round = 0; round < WAITERS; round++) {
        await Promise.all(workers.map((worker) => worker.next("sections")));
      }
      const lines = Deno.readTextFileSync(`${directory}/turns`).trimEnd().split("\n");
      const turns = lines.map((line) => line.split(" "));
      const order = turns.map(([owner]) => owner);
      const pause = kind === "redis" ? 0 : longestPause([released, ...turns]);
      if (pause <= PASSED_OVER_MS) assertEquals(order, queue);
      return order.join() === queue.join() ? 0 : pause;
    });
  });
}
