import { assert, assertEquals } from "@std/assert";
import type { Lock } from "@holdfast/lock";
import { acquireFrom } from "../../src/lock/acquisition.ts";
import { HandoffCohort } from "../../src/cohort/cohort.ts";
import { checkAcquireOptions } from "../../src/lock/options.ts";
import { Random } from "../simulation/kernel/random.ts";
import { settled } from "../support/virtual_clock.ts";
import type { Condition, FaultyNode } from "./faulty_node.ts";
import { claimOf, quorum } from "./quorum.ts";

/** Returns how many handles are in the queues of the nodes. */
async function waiting(nodes: readonly FaultyNode[]): Promise<number> {
  const listings = await Promise.all(nodes.map((node) => node.query()));
  return listings.flatMap(({ pending }) => pending).length;
}

Deno.test("RedlockStore.release() leaves a place that was handed on and never used", async () => {
  const { nodes, store } = quorum(3);
  const [holder, first, second] = [claimOf(), claimOf(), claimOf()];
  await store.attempt(holder, { enqueue: false });
  await store.attempt(first, { enqueue: true });
  await store.succeed(first, second);
  await store.release(first);
  assertEquals(await waiting(nodes), 1);
  assertEquals(await store.release(second), true);
  assertEquals(await waiting(nodes), 0);
});

for (const linger of [0, 10]) {
  Deno.test(`cohort(redlock) copes with short waits and nodes that fail, linger ${linger}`, async () => {
    for (let seed = 0; seed < 60; seed++) {
      const { clock, nodes, open } = quorum(3);
      const random = new Random(seed);
      const processes = [open(), open()].map((store) => new HandoffCohort(store, clock, { keep: 10, linger }));
      const fences: bigint[] = [];
      let holder: Lock | undefined;
      let going = 0;
      const section = async () => {
        const options = checkAcquireOptions({ wait: random.pick([2, 20, 60_000]) });
        const lock = await acquireFrom(random.pick(processes), "a", options, clock);
        assert(lock !== null);
        assert(!holder?.held, `two holders, seed ${seed}`);
        holder = lock;
        fences.push(lock.fence);
        await clock.sleep(random.pick([0, 1, 15]));
        await lock.release();
      };
      const ends: Promise<void>[] = [];
      for (let came = 0; came < 20; came++) {
        going++;
        ends.push(section().finally(() => going--));
        ends.at(-1)!.catch(() => {});
        if (random.chance(0.2)) random.pick(nodes).condition = random.pick<Condition>(["failing", "hanging"]);
        if (random.chance(0.4)) { for (const node of nodes) node.condition = "healthy"; }
        await clock.advance(random.pick([0, 1, 10]));
      }
      for (const node of nodes) node.condition = "healthy";
      for (let ms = 0; going > 0; ms++) {
        assert(ms < 2_000, `asleep, seed ${seed}`);
        await clock.advance(1);
      }
      for (const end of await Promise.allSettled(ends)) {
        // A wait may be over.
        if (end.status === "rejected") assert(/within (2|20) ms/.test(String(end.reason)), String(end.reason));
      }
      assertEquals(fences, fences.toSorted((a, b) => a < b ? -1 : 1), `fences, seed ${seed}`);
      await clock.advance(30_000);
      for (const process of processes) await process[Symbol.asyncDispose]();
      await settled();
      for (const node of nodes) assertEquals(await node.query(), { held: [], pending: [] }, `seed ${seed}`);
      assertEquals(clock.pending, 0, `timers, seed ${seed}`);
    }
  });
}
