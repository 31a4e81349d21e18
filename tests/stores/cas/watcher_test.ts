import { assert, assertEquals } from "@std/assert";
import { ask, claimOf, grant, LONG } from "../../support/claims.ts";
import type { ControlledBackend } from "./controlled_backend.ts";
import { NAME, Place } from "./controlled_backend.ts";

type Watch = NonNullable<ControlledBackend["watch"]>;

/** Returns how long after the release of a lock its waiter is woken, in milliseconds, and how much was read meanwhile. */
async function wokenAfter(
  watch: Watch,
): Promise<{ readonly ms: number; readonly reads: number; readonly left: number }> {
  const place = new Place();
  const [holder, waiter] = [place.connect(), place.connect({ watch })];
  const [held, waiting] = [claimOf(NAME), claimOf(NAME)];
  await grant(holder.store, held);
  await ask(waiter.store, waiting);
  const scope = new AbortController();
  const from = place.clock.now().monotonic;
  let wokenAt: number | undefined;
  const woken = waiter.store.wakeup(waiting, scope.signal).then(() => wokenAt = place.clock.now().monotonic);
  await place.clock.advance(2_000);
  const { reads } = waiter.backend.trips();
  assertEquals(wokenAt, undefined);
  await holder.store.release(held);
  for (let i = 0; wokenAt === undefined && i < 1_000; i++) await place.clock.advance(10);
  scope.abort();
  await woken;
  await place.clock.advance(0);
  return { ms: wokenAt! - from - 2_000, reads, left: place.clock.pending };
}

Deno.test("Watcher wakes within 500 ms if each watch rejects", async () => {
  const { ms, reads, left } = await wokenAfter(() => Promise.reject(new Error("no watches today")));
  assert(ms <= 500, `${ms} ms`);
  assert(reads < 30, `${reads} reads`);
  assertEquals(left, 0);
});

Deno.test("Watcher wakes within 500 ms if each watch throws at once", async () => {
  const { ms, left } = await wokenAfter(() => {
    throw new Error("not connected");
  });
  assert(ms <= 500, `${ms} ms`);
  assertEquals(left, 0);
});

Deno.test("Watcher does not read all the time if each watch resolves at once", async () => {
  const { ms, reads, left } = await wokenAfter(() => Promise.resolve());
  assert(ms <= 500, `${ms} ms`);
  assert(reads < 30, `${reads} reads`);
  assertEquals(left, 0);
});

Deno.test("Watcher wakes at once if the document changes", async () => {
  const place = new Place();
  const [holder, waiter] = [place.connect(), place.connect()];
  const [held, waiting] = [claimOf(NAME, "exclusive", LONG), claimOf(NAME)];
  await grant(holder.store, held);
  await ask(waiter.store, waiting);
  const woken = waiter.store.wakeup(waiting, AbortSignal.timeout(LONG));
  await place.clock.advance(30_000);
  await holder.store.release(held);
  await woken;
  assertEquals(place.clock.pending, 0);
});
