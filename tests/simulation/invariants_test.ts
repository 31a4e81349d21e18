// Deno only: it runs in a simulated world, of which the runtime is no part.
import { assert, assertEquals } from "@std/assert";
import { acquireFrom } from "../../src/lock/acquisition.ts";
import { LeasedLock } from "../../src/lock/lock.ts";
import { checkAcquireOptions } from "../../src/lock/options.ts";
import { MemoryStore } from "../../src/stores/memory/store.ts";
import { Invariants } from "./invariants.ts";
import { Machine } from "./machine.ts";
import { World } from "./world.ts";

/** Returns what is found wrong when a machine is paused that believes in a lease whose clock was set back before. */
async function paused(ms: number, stubborn: boolean): Promise<readonly string[]> {
  const world = new World();
  const machine = new Machine(world, "c0", { rate: 1, skew: 0, step: 1 });
  const invariants = new Invariants(world, {
    exclusion: true,
    fenceSlack: 0,
    disturbedUntil: () => 0,
    longestGap: () => Infinity,
  });
  machine.paused = () => invariants.paused(machine);
  machine.caughtUp = () => invariants.caughtUp(machine);
  const settings = checkAcquireOptions({ lease: 10_000, renew: false });
  const lock = await acquireFrom(new MemoryStore(undefined, machine), "a", settings, machine);
  assert(lock instanceof LeasedLock, "not granted");
  invariants.got(invariants.called("a", machine), lock, 1);
  // From here on the clocks are 5 s apart: the wall clock is ahead, and falls back while the process is paused.
  machine.setWall(5_000);
  machine.pause({ ms });
  machine.setWall(-5_000);
  if (stubborn) Object.defineProperty(lock, "held", { get: () => true });
  await world.run(() => false, ms + 1);
  return invariants.violations;
}

Deno.test("caughtUp() takes the larger sum of what a clock says before and during a pause", async () => {
  assertEquals(await paused(7_000, false), []);
  assertEquals(await paused(7_000, true), []);
  assertEquals((await paused(11_000, true)).length, 1);
  assertEquals(await paused(11_000, false), []);
});
