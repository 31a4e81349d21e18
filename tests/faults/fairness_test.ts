// Deno only: it starts processes of Deno.
import { assertEquals } from "@std/assert";
import { quickest } from "./quickest.ts";
import { Fixture, longestPause, PASSED_OVER_MS } from "./workers.ts";

const PROCESSES = 5;
const WAITERS = 10;

for (const kind of ["redis", "sqlite"] as const) {
  Deno.test(`acquire() serves ${PROCESSES} processes first come, first served, over ${kind}`, async () => {
    await using fixture = await Fixture.open(kind);
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
      if (order.join() === queue.join()) return 0;
      // A process that was stopped for so long may have been passed over.
      const pause = longestPause([released, ...turns]);
      if (pause <= PASSED_OVER_MS) assertEquals(order, queue);
      return pause;
    });
  });
}
