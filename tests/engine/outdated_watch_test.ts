import { assert } from "@std/assert";
import { ask, claimOf, grant } from "../support/claims.ts";
import { NAME, Place } from "./controlled_backend.ts";

Deno.test("WatchedLock looks within 5 s although its watches go on telling of the past", async () => {
  const place = new Place();
  const [holder, waiter] = [place.connect(), place.connect()];
  const past: { at: number; value: string | undefined; version: number }[] = [];
  place.documents.onChange(NAME, () => past.push({ at: place.clock.now().monotonic, ...place.documents.found(NAME) }));
  const [held, waiting] = [claimOf(NAME, "exclusive", 1_000_000), claimOf(NAME)];
  await grant(holder.store, held);
  await ask(waiter.store, waiting);
  // A member that is 60 s behind: it tells each version, in order, 60 s late.
  waiter.backend.watch = async (_key, version, signal) => {
    while (!signal.aborted) {
      const next = past.find((p) => p.version > version);
      if (next !== undefined && next.at + 60_000 <= place.clock.now().monotonic) return next;
      await place.clock.sleep(50, signal);
    }
    return undefined;
  };
  const scope = new AbortController();
  for (let renewal = 1; renewal <= 60; renewal++) {
    await place.clock.advance(1_000);
    await holder.store.renew({ ...held, renewal });
  }
  let isAwake = false;
  const woken = waiter.store.wakeup(waiting, scope.signal).then(() => isAwake = true);
  await place.clock.advance(100);
  await holder.store.release(held);
  const from = place.clock.now().monotonic;
  for (let i = 0; !isAwake && i < 7_000; i++) await place.clock.advance(10);
  const ms = place.clock.now().monotonic - from;
  scope.abort();
  await woken;
  assert(ms <= 6_100, `woken ${ms} ms after the release, reads: ${waiter.backend.reads}`);
});

Deno.test("WatchedLock does not read all the time if each watch tells of what was before", async () => {
  const place = new Place();
  const [holder, waiter] = [place.connect(), place.connect()];
  const [held, waiting] = [claimOf(NAME, "exclusive", 1_000_000), claimOf(NAME)];
  await grant(holder.store, held);
  const before = place.documents.found(NAME);
  await ask(waiter.store, waiting);
  waiter.backend.watch = async (_key, _version, signal) => {
    // A trip.
    await place.clock.sleep(1, signal);
    return before;
  };
  const scope = new AbortController();
  const woken = (async () => {
    while (!scope.signal.aborted) {
      await waiter.store.wakeup(waiting, scope.signal);
      if (!scope.signal.aborted) await waiter.store.attempt(waiting, { enqueue: true });
    }
  })();
  waiter.backend.trips();
  await place.clock.advance(2_000);
  const { reads, writes } = waiter.backend.trips();
  scope.abort();
  await place.clock.advance(10);
  await woken;
  assert(reads + writes < 60, `${reads} reads, ${writes} writes in 2 s`);
});
