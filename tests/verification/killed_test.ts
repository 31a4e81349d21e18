// Deno only: it takes long, and kills processes that are only simulated.
import { assert } from "@std/assert";
import { MemoryStore } from "../../src/stores/memory/store.ts";
import { VirtualClock } from "../support/virtual_clock.ts";
import { killProcesses } from "./killed_processes.ts";

/** How many processes are killed. */
const KILLS = 2_500;

Deno.test("acquire() gives fences that rise through 2,500 kills", async () => {
  const clock = new VirtualClock();
  const store = new MemoryStore(undefined, clock);
  const pass = (ms: number) => clock.advance(ms);
  const { phases, fences } = await killProcesses({ store, clock, pass, expires: true }, KILLS, 1);
  assert(fences > KILLS, `${fences}`);
  for (const phase of ["run", "block", "linger", "call"] as const) assert(phases[phase] > KILLS / 50, `${phase}`);
});
