// Deno only: it runs in a simulated world, of which the runtime is no part.
import { assert, assertEquals } from "@std/assert";
import { acquireFrom } from "../../src/lock/acquisition.ts";
import { LeasedLock } from "../../src/lock/lock.ts";
import { checkAcquireOptions } from "../../src/lock/options.ts";
import { MemoryStore } from "../../src/stores/memory/store.ts";
import { type Ended, Invariants } from "./invariants.ts";
import { Machine } from "./kernel/machine.ts";
import { World } from "./kernel/world.ts";

/** Returns what is found wrong when a machine is paused that believes in a lease whose clock was set back before. */
async function paused(ms: number, stubborn: boolean): Promise<readonly string[]> {
  const world = new World();
  const machine = new Machine(world, "c0", { rate: 1, skew: 0, step: 1 });
  const invariants = new Invariants(world, {
    exclusion: true,
    fenceSlack: 0,
    disturbedUntil: () => 0,
    reservation: 0,
    longestGap: () => Infinity,
  });
  invariants.judge(machine, { chance: () => false });
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

/** Returns how a lock was given up at 900 ms, beside one whose lease of 100 ms has ended, and perhaps was released. */
async function givenUp(reservation: number, released: boolean): Promise<Ended | undefined> {
  const world = new World();
  const machine = new Machine(world, "c0", { rate: 1, skew: 0, step: 1 });
  const store = new MemoryStore(undefined, machine);
  let ended: Ended | undefined;
  const invariants = new Invariants(world, {
    exclusion: true,
    fenceSlack: 0,
    disturbedUntil: () => 0,
    reservation,
    longestGap: (_, last) => {
      ended = last;
      return Infinity;
    },
  });
  const share = async (lease: number) => {
    const settings = checkAcquireOptions({ mode: "shared", lease, renew: false });
    const lock = await acquireFrom(store, "a", settings, machine);
    assert(lock instanceof LeasedLock, "not granted");
    return invariants.got(invariants.called("a", machine), lock, 1);
  };
  const lapsed = await share(100);
  const other = await share(10_000);
  await world.run(() => false, 500);
  if (released) lapsed();
  await world.run(() => false, 900);
  other();
  await share(100);
  return ended;
}

Deno.test("release of a lock notes how long a lapsed one beside it may still be reserved", async () => {
  for (const [reservation, released, kept] of [[1_500, false, 600], [1_500, true, 0], [800, false, 0]] as const) {
    const ended = await givenUp(reservation, released);
    assertEquals([ended?.at, ended?.lapsed, ended?.kept], [900, false, kept], `${reservation} ms, ${released}`);
  }
});
