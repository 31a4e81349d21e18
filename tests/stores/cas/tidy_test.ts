import { assert, assertEquals } from "@std/assert";
import { ask, claimOf, grant, LONG } from "../../support/claims.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { NAME, Place } from "./controlled_backend.ts";

/** Lets handles sleep for a time, which also moves the other clocks. */
async function advanceAll(clocks: readonly VirtualClock[], ms: number, step = 50): Promise<void> {
  for (let passed = 0; passed < ms; passed += step) for (const clock of clocks) await clock.advance(step);
}

Deno.test("callRoll() calls no roll all the time where clocks are wrong", async () => {
  const place = new Place();
  const clock = new VirtualClock();
  clock.setWall(400_000);
  const [holder, a, b] = [place.connect(), place.connect(), place.connect({ clock })];
  const held = claimOf(NAME, "exclusive", 3_600_000);
  await grant(holder.store, held);
  const waiters = [{ at: a, claim: claimOf(NAME) }, { at: b, claim: claimOf(NAME) }];
  const scope = new AbortController();
  for (const { at, claim } of waiters) {
    await ask(at.store, claim);
    void at.store.wakeup(claim, scope.signal);
    at.backend.trips();
  }
  await advanceAll([place.clock, clock], 60_000, 500);
  scope.abort();
  const writes = a.backend.writes + b.backend.writes;
  assert(writes <= 2, `${writes} writes in a minute`);
});

Deno.test("callRoll() finds waiters of a process that begins anew again and again", async () => {
  const place = new Place();
  const held = claimOf(NAME, "exclusive", 3_600_000);
  const holder = place.connect({ maxBytes: 40_000 });
  await grant(holder.store, held);
  let most = 0;
  for (let i = 0; i < 600; i++) {
    const { store } = place.connect({ maxBytes: 40_000 });
    await ask(store, claimOf(NAME));
    most = Math.max(most, place.document.queue.length);
    await place.clock.advance(3_000);
    if (i % 10 === 0) await holder.store.renew(held);
  }
  assert(most < 150, `${most} waiters`);
});

Deno.test("turnLeft() counts no turn of a document that was removed", async () => {
  const place = new Place();
  const [a, b, c] = [place.connect(), place.connect(), place.connect()];
  const release = async () => {
    const [held, first] = [claimOf(NAME), claimOf(NAME)];
    await grant(a.store, held);
    await ask(b.store, first);
    await a.store.release(held);
    await ask(c.store, claimOf(NAME), false);
    return first;
  };
  await release();
  place.documents.delete(NAME);
  await place.clock.advance(LONG);
  const first = await release();
  assertEquals(place.handles.queue[0], first.owner);
});

Deno.test("leaseLeft() lets waiters watch where several machines decide", async () => {
  const place = new Place({ ahead: 0 });
  const [a, b] = [0, 1].map(() => place.connect({ severalClocks: true, maxClockSkew: Infinity }));
  await grant(a!.store, claimOf(NAME, "exclusive", 3_000));
  const waiting = claimOf(NAME);
  await ask(b!.store, waiting);
  const scope = new AbortController();
  const woken = b!.store.wakeup(waiting, scope.signal);
  await place.clock.advance(4_000);
  scope.abort();
  await woken;
  await grant(b!.store, waiting);
});
