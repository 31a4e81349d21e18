// Deno only: it starts a server, and kills processes.
import { assert, assertEquals } from "@std/assert";
import { acquire, tryAcquire } from "@holdfast/lock";
import { killHolder } from "../../support/killed_holder.ts";
import { until } from "../../support/until.ts";
import { ignore, Place } from "./place.ts";

Place.serve();

/** The lease of the process that is killed, in milliseconds. */
const LEASE = 3_000;

/** How far its clock may be from that of the others, in milliseconds. */
const SKEW = 1_500;

function test(name: string, run: (place: Place, fence: bigint, end: number) => Promise<void>): void {
  Deno.test({
    name,
    ignore,
    async fn() {
      const place = new Place();
      const program = new URL("holder_process.ts", import.meta.url);
      const fence = await killHolder(program, Place.cluster.endpoints[0]!, place.prefix, `${LEASE}`);
      const [holder] = (await place.documents()).get("a")!.holders.values();
      await run(place, fence, holder!.end);
    },
  });
}

test("tryAcquire() succeeds a killed process maxClockSkew after its lease", async (place, fence, end) => {
  await until(async () => {
    // Each time a store object that has seen nothing yet.
    const lock = await tryAcquire(place.store({ maxClockSkew: SKEW }), "a");
    const late = Date.now() - end;
    if (lock === null) return false;
    assert(late >= SKEW, `${late} ms after its end`);
    assert(lock.fence > fence);
    await lock.release();
    return true;
  }, "it is granted");
});

test("acquire() succeeds a killed process once it has watched for a lease", async (place, fence) => {
  const started = performance.now();
  // By no clock of the other process.
  await using lock = await acquire(place.store({ maxClockSkew: Infinity }), "a", { wait: LEASE + 20_000 });
  const waited = performance.now() - started;
  assert(waited >= LEASE && lock.fence > fence, `${waited} ms`);
});

test("tryAcquire() succeeds a killed process past a waiter that has died", async (place, fence) => {
  const dead = place.engine();
  const claim = { name: "a", owner: crypto.randomUUID(), mode: "exclusive", lease: LEASE } as const;
  assertEquals((await dead.attempt(claim, { enqueue: true })).granted, false);
  await until(
    async () => {
      const lock = await tryAcquire(place.store({ maxClockSkew: SKEW }), "a");
      if (lock === null) return false;
      assert(lock.fence > fence);
      await lock.release();
      return true;
    },
    "it is granted",
    30_000,
  );
});
