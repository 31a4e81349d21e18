import { assertEquals } from "@std/assert";
import { ask, claimOf, grant, LONG } from "../support/claims.ts";
import { NAME, Place } from "./controlled_backend.ts";

Deno.test("tidy() lets a hundred dead waiters of one process cost one turn", async () => {
  const place = new Place();
  const [holder, dead, next] = [place.connect(), place.connect(), place.connect()];
  const held = claimOf(NAME);
  await grant(holder.store, held);
  await Promise.all(Array.from({ length: 100 }, () => ask(dead.store, claimOf(NAME))));
  const waiting = claimOf(NAME);
  await ask(next.store, waiting);
  const scope = new AbortController();
  const woken = next.store.wakeup(waiting, scope.signal);
  await holder.store.release(held);
  assertEquals(place.handles.queue.length, 101);
  await place.clock.advance(1_700);
  await woken;
  await grant(next.store, waiting);
  assertEquals(place.handles, { holders: [waiting.owner], queue: [] });
});

Deno.test("left() counts no turn of a document that was removed", async () => {
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

Deno.test("left() lets waiters watch where several machines decide", async () => {
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

Deno.test("tidy() lets the server check the last end of all that it declares over", async () => {
  for (const leases of [[60_000, 30_000], [30_000, 60_000]]) {
    const place = new Place({ ahead: 0 });
    const { store } = place.connect();
    const holders = leases.map((lease) => claimOf(NAME, 2, lease));
    for (const claim of holders) await grant(store, claim);
    await place.clock.advance(35_000);
    // The server's clock is wrong for a moment, and right again when the write comes.
    const other = place.connect();
    let ahead = 40_000;
    other.backend.onRead = async (execute) => {
      const found = await execute();
      const time = found.time! + ahead;
      ahead = 0;
      return { ...found, time };
    };
    const newcomers = [claimOf(NAME, 2), claimOf(NAME, 2)];
    const granted = [];
    for (const claim of newcomers) {
      const attempt = other.store.attempt(claim, { enqueue: false });
      await place.clock.advance(1_000);
      if ((await attempt).granted) granted.push(claim.owner);
    }
    const lasting = holders.find(({ lease }) => lease === 60_000)!.owner;
    assertEquals(place.handles.holders, [lasting, newcomers[0]!.owner]);
    assertEquals(granted, [newcomers[0]!.owner]);
  }
});
