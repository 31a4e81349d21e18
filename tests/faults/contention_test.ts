import { assert, assertEquals } from "@std/assert";
import { Site, type StoreKind } from "./workers.ts";

const PROCESSES = 8;
const SECTIONS = 500;

for (const kind of ["redis", "sqlite"] satisfies StoreKind[]) {
  Deno.test(`acquire() lets one of ${PROCESSES} processes in at a time, over ${kind}`, async () => {
    await using site = await Site.open(kind);
    const { directory } = site;
    Deno.writeTextFileSync(`${directory}/counter`, "0");
    const workers = await site.start(PROCESSES);
    await Promise.all(workers.map((worker) => worker.tell({ do: "sections", name: "a", count: SECTIONS, directory })));
    const done = await Promise.all(workers.map((worker) => worker.next("sections")));
    console.log(done);
    assertEquals(Deno.readTextFileSync(`${directory}/counter`), `${PROCESSES * SECTIONS}`);
    const turns = Deno.readTextFileSync(`${directory}/turns`).trimEnd().split("\n");
    const fences = turns.map((turn) => BigInt(turn.split(" ")[1]!));
    assertEquals(fences.length, PROCESSES * SECTIONS);
    fences.reduce((before, fence) => {
      assert(fence > before, `fence ${fence} came after ${before}`);
      return fence;
    });
  });
}
