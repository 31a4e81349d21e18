// Deno only: it tests a tool for Deno.
import { assert, assertEquals } from "@std/assert";
import { Random } from "../../simulation/kernel/random.ts";
import { HANG_MS } from "../../support/until.ts";
import type { Crew } from "./crew.ts";
import { WorkerClocks } from "./worker_clocks.ts";
import { clockFaults, LostFences } from "./clock_faults.ts";

/** Returns by how many milliseconds the clock of each process is ahead, at least and at most, as it sees it itself. */
async function ahead(clocks: WorkerClocks, places: number): Promise<{ least: number; most: number }[]> {
  return await Promise.all(Array.from({ length: places }, async (_, place) => {
    const command = new Deno.Command("date", { args: ["+%s.%N"], env: clocks.env(place) });
    const before = Date.now();
    const at = Number(new TextDecoder().decode((await command.output()).stdout)) * 1_000;
    // The clock here counts whole milliseconds.
    return { least: at - Date.now() - 1, most: at - before };
  }));
}

/** Makes each fault last until it is to end, so that it is seen however long a process takes to start. */
class Lasting extends Random {
  override spread(): number {
    return HANG_MS;
  }
}

for (const [kind, breach] of [["clocks apart", false], ["clock wrong", true]] as const) {
  Deno.test(`clockFaults() set clocks by less or by more than maxClockSkew: ${kind}`, async () => {
    using clocks = await WorkerClocks.make({ shared: false });
    const crew = { size: 3 } as Crew;
    const fault = clockFaults(clocks, crew, new LostFences(), true).find((each) => each.kind === kind)!;
    assertEquals(fault.breach, breach);
    assert(clockFaults(clocks, crew, new LostFences(), false).every((each) => !each.breach));
    for (let seed = 1; seed <= 3; seed++) {
      const over = new AbortController();
      const injected = fault.inject(new Lasting(seed), over.signal, () => {});
      const all = await ahead(clocks, 3);
      over.abort();
      assert(await injected);
      const [leasts, mosts] = [all.map(({ least }) => least), all.map(({ most }) => most)];
      const [least, most] = [Math.max(...leasts) - Math.min(...mosts), Math.max(...mosts) - Math.min(...leasts)];
      assert(breach ? most > 11_500 : least < 10_000 && most > 500, `${least} to ${most}`);
      for (const { least, most } of await ahead(clocks, 3)) assert(least < 0 && most > -1, `${least} to ${most}`);
    }
  });
}

Deno.test("LostFences keeps losses and wrong clocks apart for as long as fences could fall", async () => {
  let now = 1;
  const fences = new LostFences(() => now);
  assert(fences.mayLose() && fences.mayBeBehind(20_000));
  const wrong = Promise.withResolvers<void>();
  const lasting = fences.wrong(50, () => wrong.promise);
  assertEquals(fences.mayLose(), false);
  wrong.resolve();
  await lasting;
  assertEquals(fences.mayLose(), false, "the clocks have not gone on yet");
  now += 1_051;
  assert(fences.mayLose(), "they have");
  fences.lost();
  assertEquals(fences.mayBeBehind(50), false);
  now += 1_051;
  assert(fences.mayBeBehind(50), "the clocks have gone on");
  assertEquals(fences.mayBeBehind(20_000), false);
});
