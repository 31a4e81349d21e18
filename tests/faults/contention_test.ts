// Deno only: it starts processes of Deno.
import { assert, assertEquals } from "@std/assert";
import { Fixture } from "./workers.ts";

const PROCESSES = 8;
const SECTIONS = 500;

for (const kind of ["redis", "sqlite"] as const) {
  Deno.test(`acquire() lets one of ${PROCESSES} processes in at a time, over ${kind}`, async () => {
    await using fixture = await Fixture.open(kind);
    const { directory } = fixture;
    Deno.writeTextFileSync(`${directory}/counter`, "0");
    const workers = await fixture.workers(PROCESSES);
    await Promise.all(workers.map((worker) => worker.send({ do: "sections", name: "a", count: SECTIONS, directory })));
    // A section that finds somebody else inside fails, and makes this reject.
    await Promise.all(workers.map((worker) => worker.next("sections")));

    assertEquals(Deno.readTextFileSync(`${directory}/counter`), `${PROCESSES * SECTIONS}`);
    const turns = Deno.readTextFileSync(`${directory}/turns`).trimEnd().split("\n");
    assertEquals(turns.length, PROCESSES * SECTIONS);
    let last = 0n;
    for (const turn of turns) {
      const fence = BigInt(turn.split(" ")[1]!);
      assert(fence > last, `fence ${fence} came after ${last}`);
      last = fence;
    }
  });
}
