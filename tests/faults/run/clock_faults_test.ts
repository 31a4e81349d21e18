// Deno only: it tests a tool for Deno.
import { assert, assertEquals } from "@std/assert";
import { Random } from "../../simulation/kernel/random.ts";
import { until } from "../../support/until.ts";
import type { Crew } from "./crew.ts";
import { WorkerClocks } from "./worker_clocks.ts";
import { clockFaults, LostFences } from "./clock_faults.ts";

/** Returns by how many milliseconds the clocks of processes are ahead, as they see it themselves. */
async function ahead(clocks: WorkerClocks, places: number): Promise<number[]> {
  return await Promise.all(Array.from({ length: places }, async (_, place) => {
    const command = new Deno.Command("date", { args: ["+%s.%N"], env: clocks.env(place) });
    const before = Date.now();
    return Number(new TextDecoder().decode((await command.output()).stdout)) * 1_000 - before;
  }));
}

/** How long a process may take to start, in milliseconds. */
const STARTED = 2_000;

for (const [kind, breach] of [["clocks apart", false], ["clock wrong", true]] as const) {
  Deno.test(`clockFaults() set clocks by less or by more than maxClockSkew: ${kind}`, async () => {
    using clocks = await WorkerClocks.make({ shared: false });
    const crew = { size: 3 } as Crew;
    const fault = clockFaults(clocks, crew, new LostFences(), true).find((each) => each.kind === kind)!;
    assertEquals(fault.breach, breach);
    assert(clockFaults(clocks, crew, new LostFences(), false).every((each) => !each.breach));
    for (let seed = 1; seed <= 3; seed++) {
      const over = new AbortController();
      const injected = fault.inject(new Random(seed), over.signal, () => {});
      const all = await ahead(clocks, 3);
      over.abort();
      assert(await injected);
      const apart = Math.max(...all) - Math.min(...all);
      assert(breach ? apart > 11_500 : apart < 10_000 + STARTED && apart > 500, `${apart}`);
      for (const ms of await ahead(clocks, 3)) assert(ms > -1 && ms < STARTED, `${ms}`);
    }
  });
}

Deno.test("LostFences keeps losses and wrong clocks apart for as long as fences could fall", async () => {
  const fences = new LostFences();
  assert(fences.mayLose() && fences.mayBeBehind(20_000));
  const wrong = Promise.withResolvers<void>();
  const lasting = fences.wrong(50, () => wrong.promise);
  assertEquals(fences.mayLose(), false);
  wrong.resolve();
  await lasting;
  assertEquals(fences.mayLose(), false, "the clocks have not gone on yet");
  await until(() => fences.mayLose(), "they have");
  fences.lost();
  assertEquals(fences.mayBeBehind(50), false);
  await until(() => fences.mayBeBehind(50), "the clocks have gone on");
  assertEquals(fences.mayBeBehind(20_000), false);
});
