import { assertEquals, assertRejects } from "@std/assert";
import type { FoundDocument } from "../../src/engine/mod.ts";
import { ask, claimOf, grant } from "../support/claims.ts";
import { heldUp, NAME, Place } from "./controlled_backend.ts";

Deno.test("succeed() gives a place to another handle in one write", async () => {
  const place = new Place();
  const [a, b] = [place.connect(), place.connect()];
  const [held, from, to, later] = [claimOf(NAME), claimOf(NAME), claimOf(NAME), claimOf(NAME)];
  await grant(a.store, held);
  await ask(b.store, from);
  await ask(b.store, later);
  const { ticket } = place.document.queue[0]!;
  b.backend.trips();
  await b.store.succeed(from, to);
  assertEquals(b.backend.trips(), { reads: 0, writes: 1 });
  await b.store.release(from);
  assertEquals(place.handles.queue, [to.owner, later.owner]);
  assertEquals(place.document.queue[0]!.ticket, ticket);
});

Deno.test("succeed() never leaves a place empty", async () => {
  const place = new Place();
  const [a, b] = [place.connect(), place.connect()];
  const [held, from, to, later] = [claimOf(NAME), claimOf(NAME), claimOf(NAME), claimOf(NAME)];
  await grant(a.store, held);
  await ask(b.store, from);
  await ask(a.store, later);
  await b.store.succeed(from, to);
  await b.store.release(from);
  // It has not attempted yet, and it is its turn.
  await a.store.release(held);
  assertEquals(place.document.turn?.handle, to.owner);
  assertEquals((await a.store.attempt(later, { enqueue: true })).granted, false);
  await grant(b.store, to);
});

Deno.test("release() that fails keeps nothing of its handle", async () => {
  const place = new Place();
  const [a, b] = [place.connect(), place.connect()];
  const waiting = claimOf(NAME);
  await grant(a.store, claimOf(NAME));
  await ask(b.store, waiting);
  b.backend.onWrite = () => Promise.reject(new Error("not now"));
  await assertRejects(() => b.store.release(waiting), Error);
  b.backend.onWrite = (execute) => execute();
  // Another call of the same process removes it.
  await b.store.release(claimOf(NAME));
  assertEquals(place.handles.queue, []);
});

Deno.test("attempt() keeps the place of a waiter whose call hangs", async () => {
  const place = new Place();
  const [a, b] = [place.connect(), place.connect()];
  const [first, second, third] = [claimOf(NAME), claimOf(NAME), claimOf(NAME)];
  await grant(a.store, claimOf(NAME));
  await ask(b.store, first);
  await ask(b.store, second);
  for (let i = 0; i < 2; i++) {
    await ask(b.store, second);
    b.backend.onRead = heldUp<FoundDocument<number>>(() => b.backend.onRead = (execute) => execute()).hook;
    const hung = assertRejects(() => b.store.attempt(first, { enqueue: true }), Error);
    await place.clock.advance(1_000);
    const others = [b.store.attempt(second, { enqueue: true }), b.store.release(claimOf(NAME))];
    await place.clock.advance(1_100);
    await Promise.all([hung, ...others]);
    assertEquals(place.handles.queue, [first.owner, second.owner]);
  }
  await ask(b.store, third);
  assertEquals(place.handles.queue, [first.owner, second.owner, third.owner]);
});

Deno.test("attempt() does not prolong a lease when the clock was set back", async () => {
  const place = new Place();
  const { store, backend } = place.connect();
  const held = claimOf(NAME, "exclusive", 30_000);
  backend.onWrite = async (execute) => {
    await execute();
    throw new Error("the reply was lost");
  };
  await assertRejects(() => store.attempt(held, { enqueue: false }), Error);
  backend.onWrite = (execute) => execute();
  place.clock.setWall(-3_600_000);
  await grant(store, held);
  const { lease, end } = place.document.holders.get(held.owner)!;
  assertEquals([lease, end - place.clock.now().wall], [30_000, 30_000]);
});

Deno.test("attempt() takes a run along although the grant before it rests on a slow answer", async () => {
  const place = new Place({ ahead: 0 });
  const [a, b] = [place.connect(), place.connect()];
  const [held, first, second] = [claimOf(NAME), claimOf(NAME), claimOf(NAME)].map((claim) => ({
    ...claim,
    group: "g",
  }));
  const { promise, resolve } = Promise.withResolvers<void>();
  a.backend.onRead = async (execute) => {
    await promise;
    return await execute();
  };
  const granted = grant(a.store, held!);
  await place.clock.advance(500);
  resolve();
  await granted;
  await ask(b.store, first!);
  await ask(b.store, second!);
  await a.store.release(held!);
  const attempt = await b.store.attempt(first!, { enqueue: true });
  assertEquals(attempt.granted && attempt.run, [second!.owner]);
});

Deno.test("attempt() keeps a place of which the first write was not answered", async () => {
  const place = new Place();
  const [a, b, c] = [place.connect(), place.connect(), place.connect()];
  const [held, first, second] = [claimOf(NAME), claimOf(NAME), claimOf(NAME)];
  await grant(a.store, held);
  b.backend.onWrite = async (execute) => {
    await execute();
    throw new Error("the reply was lost");
  };
  await assertRejects(() => b.store.attempt(first, { enqueue: true }), Error);
  b.backend.onWrite = (execute) => execute();
  await ask(b.store, first);
  await ask(c.store, second);
  // It does not take its turn, and is struck off.
  await a.store.release(held);
  await ask(c.store, second);
  await place.clock.advance(1_400);
  await ask(c.store, second);
  await place.clock.advance(101);
  await ask(c.store, claimOf(NAME), false);
  assertEquals(place.handles.queue, [second.owner]);
  await grant(a.store, claimOf(NAME), { steal: true });
  await ask(b.store, first);
  assertEquals(place.handles.queue, [first.owner, second.owner]);
});

Deno.test("succeed() leaves a handle alone that is in the queue itself", async () => {
  const place = new Place();
  const [a, b] = [place.connect(), place.connect()];
  const [from, to] = [claimOf(NAME), claimOf(NAME)];
  await grant(a.store, claimOf(NAME));
  await ask(b.store, from);
  await ask(b.store, to);
  await b.store.succeed(from, to);
  assertEquals(place.handles.queue, [from.owner, to.owner]);
});

Deno.test("forget() leaves a waiter alone that is in the queue", async () => {
  const place = new Place();
  const [a, b] = [place.connect(), place.connect()];
  const waiting = claimOf(NAME);
  await grant(a.store, claimOf(NAME));
  await ask(b.store, waiting);
  b.store.forget(waiting);
  await b.store.release(claimOf(NAME));
  assertEquals(place.handles.queue, [waiting.owner]);
});
