// Deno only: it starts processes of Deno.
import { assertEquals } from "@std/assert";
import { Fixture } from "./workers.ts";

const PROCESSES = 5;
const WAITERS = 10;

for (const kind of ["redis", "sqlite"] as const) {
  Deno.test(`acquire() serves ${PROCESSES} processes first come, first served, over ${kind}`, async () => {
    await using fixture = await Fixture.open(kind);
    const { directory } = fixture;
    Deno.writeTextFileSync(`${directory}/counter`, "0");
    const [holder, workers] = await Promise.all([fixture.worker(), fixture.workers(PROCESSES)]);
    await holder.ask({ do: "acquire", name: "a" }, "granted");
    const queue: string[] = [];
    for (let round = 0; round < WAITERS; round++) {
      for (const worker of workers) {
        queue.push((await worker.ask({ do: "sections", name: "a", count: 1, directory }, "waiting")).owner);
      }
    }
    await holder.send({ do: "release", name: "a" });
    for (let round = 0; round < WAITERS; round++) await Promise.all(workers.map((worker) => worker.next("sections")));
    const turns = Deno.readTextFileSync(`${directory}/turns`).trimEnd().split("\n");
    assertEquals(turns.map((turn) => turn.split(" ")[0]), queue);
  });
}
