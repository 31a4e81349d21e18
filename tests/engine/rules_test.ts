import { assert, assertEquals, assertRejects } from "@std/assert";
import { formatDocument, LockDocument } from "../../src/engine/document.ts";
import type { WriteResult } from "../../src/engine/mod.ts";
import { StoreError } from "../../src/contract/errors.ts";
import { ask, claimOf, grant } from "../support/claims.ts";
import { heldUp, NAME, Place } from "./controlled_backend.ts";

Deno.test("attempt() takes one write where this process wrote last, else two trips", async () => {
  const place = new Place();
  const [a, b] = [place.connect(), place.connect()];
  const held = claimOf(NAME);
  await grant(a.store, held);
  assertEquals(a.backend.trips(), { reads: 1, writes: 1 });
  await a.store.renew(held);
  assertEquals(a.backend.trips(), { reads: 0, writes: 1 });
  await a.store.release(held);
  assertEquals(a.backend.trips(), { reads: 0, writes: 1 });
  const again = claimOf(NAME);
  await grant(a.store, again);
  assertEquals(a.backend.trips(), { reads: 0, writes: 1 });
  await a.store.release(again);
  const other = claimOf(NAME);
  await grant(b.store, other);
  assertEquals(b.backend.trips(), { reads: 1, writes: 1 });
  await b.store.release(other);
  a.backend.trips();
  // Its write is refused with what is there.
  await grant(a.store, claimOf(NAME));
  assertEquals(a.backend.trips(), { reads: 0, writes: 2 });
});

Deno.test("attempt() writes once to queue, and a waiter writes nothing while it waits", async () => {
  const place = new Place();
  const [holder, a, b] = [place.connect(), place.connect(), place.connect()];
  const held = claimOf(NAME, "exclusive", 20_000);
  await grant(holder.store, held);
  const scope = new AbortController();
  const waiters = [{ at: a, claim: claimOf(NAME) }, { at: b, claim: claimOf(NAME) }];
  for (const { at, claim } of waiters) {
    await ask(at.store, claim);
    assertEquals(at.backend.trips(), { reads: 1, writes: 1 });
    void at.store.wakeup(claim, scope.signal);
  }
  for (let i = 0; i < 20; i++) {
    await place.clock.advance(10_000);
    await holder.store.renew(held);
    for (const { at, claim } of waiters) await ask(at.store, claim);
  }
  assertEquals([a.backend.writes, b.backend.writes], [0, 0]);
  scope.abort();
});

Deno.test("renew() answers lost only after a write", async () => {
  const place = new Place();
  const [a, b] = [place.connect(), place.connect()];
  const held = claimOf(NAME);
  await grant(a.store, held);
  await b.store.evict(NAME);
  a.backend.onRead = async (execute) => {
    await execute();
    return { value: undefined, version: 0 };
  };
  place.clock.stall(61_000);
  a.backend.trips();
  assertEquals(await a.store.renew(held), "lost");
  assert(a.backend.writes > 0, "no write");
});

Deno.test("release() that finds nothing makes a late write fail", async () => {
  const place = new Place();
  const { store, backend } = place.connect();
  const { hook, request } = heldUp<WriteResult<number>>(() => backend.onWrite = (execute) => execute());
  backend.onWrite = hook;
  const claim = claimOf(NAME, "exclusive", 30_000);
  const attempt = assertRejects(() => store.attempt(claim, { enqueue: false }), Error);
  const { execute } = await request;
  await place.clock.advance(10_000);
  await attempt;
  assertEquals(await store.release(claim), false);
  await execute();
  assertEquals(place.handles.holders, []);
});

Deno.test("change() reads what it saw 60 s ago, or before its clocks disagreed", async () => {
  const place = new Place();
  const { store, backend } = place.connect();
  // It would read where others have swept.
  Object.assign(backend, { remove: undefined });
  const use = async () => {
    await store.release(claimOf(NAME));
    return backend.trips();
  };
  await use();
  place.clock.stall(59_000);
  assertEquals(await use(), { reads: 0, writes: 1 });
  place.clock.stall(60_000);
  assertEquals(await use(), { reads: 1, writes: 1 });
  place.clock.setWall(-1_500);
  assertEquals(await use(), { reads: 1, writes: 1 });
  place.clock.setWall(60_000);
  assertEquals(await use(), { reads: 1, writes: 1 });
});

Deno.test("holderSign() is another one in a document that was removed and made anew", async () => {
  const place = new Place();
  const [a, b] = [place.connect(), place.connect()];
  // A machine that sleeps for a week in a call goes on with the same handle, and the counter begins anew.
  const held = claimOf(NAME, "exclusive", 1_000);
  await grant(a.store, held);
  await ask(b.store, claimOf(NAME), false);
  await a.store.release(held);
  place.documents.delete(NAME);
  place.clock.stall(8 * 24 * 3_600_000);
  await grant(a.store, held);
  await ask(b.store, claimOf(NAME), false);
});

Deno.test("tidy() goes by the time of the server with its age, not by its own clock", async () => {
  const place = new Place({ ahead: -3_600_000 });
  const [a, b] = [place.connect(), place.connect()];
  const held = claimOf(NAME, "exclusive", 10_000);
  await grant(a.store, held);
  const { end } = place.document.holders.get(held.owner)!;
  assert(Math.abs(end - (place.clock.now().wall - 3_590_000)) < 10, `${end}`);
  await place.clock.advance(9_990);
  await ask(b.store, claimOf(NAME), false);
  await place.clock.advance(20);
  await grant(b.store, claimOf(NAME));
});

Deno.test("tidy() caps an end that is further away than its lease", async () => {
  const place = new Place({ ahead: 0 });
  const [a, b] = [place.connect(), place.connect()];
  const held = claimOf(NAME, "exclusive", 10_000);
  await grant(a.store, held);
  place.clock.setWall(-3_600_000);
  const waiting = claimOf(NAME);
  await ask(b.store, waiting);
  const { end } = place.document.holders.get(held.owner)!;
  assert(Math.abs(end - place.clock.now().wall - 10_000) < 10, `${end}`);
});

Deno.test("tidy() caps no end by a time of the server that is older than the renewal", async () => {
  const place = new Place({ ahead: 0 });
  const { store, backend } = place.connect();
  backend.onWrite = async (execute) => ({ ...await execute(), time: undefined });
  const held = claimOf(NAME, "exclusive", 1_000);
  await grant(store, held);
  for (let i = 0; i < 10; i++) {
    await place.clock.advance(600);
    assertEquals(await store.renew(held), "renewed");
  }
  // By what the server told at first the end is 6 s too far away.
  await ask(store, claimOf(NAME));
  const { end } = place.document.holders.get(held.owner)!;
  assert(end >= place.clock.now().wall + 1_000, `${end}`);
});

Deno.test("tidy() lets those who cannot watch succeed a holder after maxClockSkew", async () => {
  const place = new Place();
  const [a, b, c] = [place.connect(), place.connect(), place.connect({ maxClockSkew: Infinity })];
  await grant(a.store, claimOf(NAME, "exclusive", 1_000));
  await place.clock.advance(10_900);
  await ask(b.store, claimOf(NAME), false);
  await place.clock.advance(200);
  await ask(c.store, claimOf(NAME), false);
  await grant(place.connect().store, claimOf(NAME));
  // A store object keeps what it has seen: it has watched a lease of its own.
  await grant(place.connect().store, claimOf("b", "exclusive", 1_000));
  await ask(c.store, claimOf("b"), false);
  await place.clock.advance(1_001);
  await grant(c.store, claimOf("b"));
});

Deno.test("giveTurn() gives a process that missed its turn its place back, each time", async () => {
  const place = new Place();
  const [a, b, c] = [place.connect(), place.connect(), place.connect()];
  const [first, second] = [claimOf(NAME), claimOf(NAME)];
  let held = claimOf(NAME);
  await grant(a.store, held);
  await ask(b.store, first);
  await ask(c.store, second);
  for (let i = 0; i < 3; i++) {
    await a.store.release(held);
    // The first one does not take its turn, as the other one sees.
    await ask(c.store, second);
    await place.clock.advance(1_400);
    await ask(c.store, second);
    assertEquals(place.handles.queue, [first.owner, second.owner]);
    await place.clock.advance(101);
    await ask(c.store, claimOf(NAME), false);
    assertEquals(place.handles.queue, [second.owner]);
    held = claimOf(NAME);
    await grant(a.store, held, { steal: true });
    await ask(b.store, first);
    assertEquals(place.handles.queue, [first.owner, second.owner]);
  }
});

Deno.test("enqueue() serves both where a waiter comes back with the ticket of another", async () => {
  const place = new Place();
  const [a, b, c] = [place.connect(), place.connect(), place.connect()];
  const [first, second] = [claimOf(NAME), claimOf(NAME)];
  const queueOne = async (at: typeof a, claim: typeof first) => {
    const held = claimOf(NAME);
    await grant(a.store, held);
    await ask(at.store, claim);
    return held;
  };
  await queueOne(b, first);
  // Removed and made anew: its counter begins anew, too.
  place.documents.delete(NAME);
  const held = await queueOne(c, second);
  await ask(b.store, first);
  assertEquals(place.document.queue.map(({ ticket }) => ticket), [2, 2]);
  await a.store.release(held);
  await grant(c.store, second);
  await c.store.release(second);
  await grant(b.store, first);
  assertEquals(place.handles, { holders: [first.owner], queue: [] });
});

Deno.test("deadWaiters() strikes off all waiters of a process that misses its turn", async () => {
  const place = new Place();
  const [a, b, c] = [place.connect(), place.connect(), place.connect()];
  const [held, own] = [claimOf(NAME), claimOf(NAME)];
  await grant(a.store, held);
  await ask(b.store, claimOf(NAME));
  await ask(c.store, own);
  await ask(b.store, claimOf(NAME));
  await a.store.release(held);
  await ask(c.store, own);
  await place.clock.advance(1_400);
  await ask(c.store, own);
  await place.clock.advance(101);
  await ask(c.store, claimOf(NAME), false);
  assertEquals(place.handles.queue, [own.owner]);
});

Deno.test("change() rejects after a third of the shortest lease, and goes on", async () => {
  const place = new Place();
  const { store, backend } = place.connect();
  const held = claimOf(NAME, "exclusive", 900);
  await grant(store, held);
  backend.onWrite = heldUp<WriteResult<number>>(() => backend.onWrite = (execute) => execute()).hook;
  const hung = assertRejects(() => store.renew(held), Error);
  const next = store.renew(held);
  await place.clock.advance(301);
  await hung;
  assertEquals(await next, "renewed");
  assertEquals(place.clock.pending, 0);
});

Deno.test("change() delays no holder by the pause of another call", async () => {
  const place = new Place();
  const [a, b] = [place.connect(), place.connect()];
  const held = claimOf(NAME);
  await grant(a.store, held);
  let refusals = 6;
  a.backend.onWrite = async (execute) => {
    if (refusals-- > 0) await b.store.release(claimOf(NAME));
    return await execute();
  };
  const waiting = a.store.attempt(claimOf(NAME), { enqueue: true });
  assertEquals(await a.store.renew(held), "renewed");
  assertEquals(place.handles.queue, []);
  await place.clock.advance(5_000);
  await waiting;
  assertEquals(place.clock.pending, 0);
});

Deno.test("issue() gives fences that rise, also when the clock falls", async () => {
  const place = new Place();
  const { store } = place.connect();
  const next = async (fences = 1): Promise<readonly [bigint, number]> => {
    const claim = { ...claimOf(NAME), fences };
    const attempt = await store.attempt(claim, { enqueue: false });
    assert(attempt.granted, "granted");
    await store.release(claim);
    return [attempt.fence, attempt.fences ?? 1];
  };
  const now = () => BigInt(place.clock.now().wall) * 1_000n;
  assertEquals(await next(), [now(), 1]);
  assertEquals(await next(5), [now() + 1n, 5]);
  assertEquals(await next(), [now() + 6n, 1]);
  const last = now() + 6n;
  place.clock.setWall(-3_600_000);
  assertEquals(await next(), [last + 1n, 1]);
  // None of a block is further than 10 ms ahead of the clock.
  assertEquals(await next(100), [last + 2n, 1]);
});

Deno.test("reserve() refuses waiters alone, and tells how many there are", async () => {
  const place = new Place();
  const maxBytes = 9_000;
  const [a, b] = [place.connect({ maxBytes }), place.connect({ maxBytes })];
  const held = claimOf(NAME);
  await grant(a.store, held);
  const waiters = Array.from({ length: 40 }, () => claimOf(NAME));
  const answers = await Promise.allSettled(waiters.map((claim) => b.store.attempt(claim, { enqueue: true })));
  const refused = answers.flatMap((answer) => answer.status === "rejected" ? [answer.reason] : []);
  const queued = place.handles.queue.length;
  assertEquals(refused.length, 40 - queued);
  assert(queued > 5 && refused[0] instanceof StoreError, `${refused[0]}`);
  assert(refused.at(-1).message.includes(`${queued} waiters`) && refused.at(-1).message.includes("9000"));
  // Those that hold it go on.
  assertEquals(await a.store.renew(held), "renewed");
  assertEquals(await a.store.release(held), true);
  await grant(b.store, waiters[0]!);
});

Deno.test("formatDocument() keeps the description of holders and waiters", async () => {
  const place = new Place();
  const { store } = place.connect();
  const described = (job: string) => ({ ...claimOf(NAME), meta: JSON.stringify({ job }) });
  const [held, waiting] = [described("x"), described("y")];
  await grant(store, held);
  await ask(store, waiting);
  await place.connect().store.release(claimOf(NAME));
  const { held: holders, pending } = await store.query!();
  assertEquals([...holders, ...pending].map(({ meta }) => meta), [{ job: "x" }, { job: "y" }]);
  assertEquals(JSON.parse(formatDocument(NAME, new LockDocument())).holders, []);
});

Deno.test("attempt() queues waiters in the order of their calls when writes are refused", async () => {
  const place = new Place();
  const [a, b] = [place.connect(), place.connect()];
  await grant(a.store, claimOf(NAME));
  const waiters = Array.from({ length: 8 }, () => claimOf(NAME));
  let refusals = 6;
  a.backend.onWrite = async (execute) => {
    if (refusals-- > 0) await b.store.release(claimOf(NAME));
    return await execute();
  };
  const waiting: Promise<unknown>[] = [];
  for (const waiter of waiters) {
    waiting.push(a.store.attempt(waiter, { enqueue: true }));
    await place.clock.advance(1);
  }
  await place.clock.advance(10_000);
  await Promise.all(waiting);
  assert(refusals < 0);
  assertEquals(place.handles.queue, waiters.map(({ owner }) => owner));
  assertEquals(place.clock.pending, 0);
});

Deno.test("attempt() with steal is granted to each caller of a process, the last one last", async () => {
  const place = new Place();
  const { store } = place.connect();
  await grant(store, claimOf(NAME));
  const thieves = Array.from({ length: 3 }, () => claimOf(NAME));
  const fences = await Promise.all(thieves.map((thief) => grant(store, thief, { steal: true })));
  assertEquals(fences, fences.toSorted());
  assertEquals(place.handles.holders, [thieves[2]!.owner]);
  assertEquals(await Promise.all(thieves.map((thief) => store.renew(thief))), ["lost", "lost", "renewed"]);
});

Deno.test("attempt() is granted although the lock is revoked in the same write", async () => {
  const place = new Place();
  const { store } = place.connect();
  const claim = claimOf(NAME);
  // The first call keeps the store busy: the others are written together.
  const [, fence, evicted] = await Promise.all([store.look(NAME), grant(store, claim), store.evict(NAME)]);
  assert(fence > 0n);
  assertEquals(evicted, 1);
  assertEquals(await store.renew(claim), "lost");
});
