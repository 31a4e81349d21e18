import { assertEquals } from "@std/assert";
import type { WriteOptions } from "../../src/engine/mod.ts";
import { ask, claimOf, grant } from "../support/claims.ts";
import { NAME, Place } from "./controlled_backend.ts";

/** Connects a process to a place, and returns what its accepted writes say about `notify`, in their order. */
function connect(place: Place) {
  const { store, backend } = place.connect();
  const notified: (boolean | undefined)[] = [];
  const { write } = backend;
  const noting: typeof write = async (key, value, version, options: WriteOptions) => {
    const result = await write(key, value, version, options);
    if (result.written) notified.push(options.notify);
    return result;
  };
  Object.assign(backend, { write: noting });
  const take = () => notified.splice(0);
  return { store, take };
}

Deno.test("write() is told to notify when it gives somebody the turn", async () => {
  const place = new Place();
  const [a, b] = [connect(place), connect(place)];
  const [held, waiting] = [claimOf(NAME), claimOf(NAME)];
  await grant(a.store, held);
  await ask(b.store, waiting);
  await a.store.renew(held);
  assertEquals([a.take(), b.take()], [[false, false], [false]]);
  await a.store.release(held);
  assertEquals(a.take(), [true]);
  // Taken: nobody has the turn.
  await grant(b.store, waiting);
  await b.store.release(waiting);
  assertEquals(b.take(), [false, false]);
});

Deno.test("write() names the store that alone has to act, unless others have to, too", async () => {
  const place = new Place();
  const [a, b, c] = [place.connect(), place.connect(), place.connect()];
  const heirs: (string | undefined)[] = [];
  const { write } = a.backend;
  const noting: typeof write = (key, value, version, options: WriteOptions) => {
    if (options.notify) heirs.push(options.heir);
    return write(key, value, version, options);
  };
  Object.assign(a.backend, { write: noting });
  const storeOf = (owner: string) => place.document.queue.find(({ claim }) => claim.owner === owner)?.store;
  const held = claimOf(NAME);
  const waiting = [claimOf(NAME), claimOf(NAME, "shared"), claimOf(NAME, "shared")] as const;
  await grant(a.store, held);
  await ask(b.store, waiting[0]);
  await ask(b.store, waiting[1]);
  await ask(c.store, waiting[2]);
  const heir = storeOf(waiting[0].owner);
  await a.store.release(held);
  assertEquals([heirs.splice(0), typeof heir], [[heir], "string"]);
  await grant(b.store, waiting[0]);
  // Both that wait now can hold it together, in two stores; nor does a revocation concern one alone.
  assertEquals(await a.store.evict(NAME), 1);
  assertEquals(heirs.splice(0), [undefined]);
  const last = claimOf(NAME);
  await b.store.release(waiting[1]);
  await c.store.release(waiting[2]);
  await grant(a.store, last);
  await ask(b.store, waiting[1]);
  await ask(c.store, waiting[2]);
  await a.store.release(last);
  assertEquals(heirs, [undefined]);
});

Deno.test("write() is told to notify when it revokes a lock", async () => {
  const place = new Place();
  const [a, b] = [connect(place), connect(place)];
  await grant(a.store, claimOf(NAME));
  assertEquals(await b.store.evict(NAME), 1);
  await grant(a.store, claimOf(NAME));
  await grant(b.store, claimOf(NAME), { steal: true });
  assertEquals([a.take(), b.take()], [[false, false], [true, true]]);
});

Deno.test("write() is told to notify when it passes a process over", async () => {
  const place = new Place();
  const [a, b, c] = [connect(place), connect(place), connect(place)];
  const readers = [claimOf(NAME, "shared", 60_000), claimOf(NAME, "shared", 60_000)];
  await grant(a.store, readers[0]!);
  const writer = claimOf(NAME);
  await ask(c.store, writer);
  await ask(b.store, readers[1]!);
  await c.store.release(writer);
  c.take();
  // Nobody else has the turn, but the other reader would sleep although it has no place any more.
  await ask(c.store, writer);
  await place.clock.advance(1_600);
  await ask(c.store, writer);
  assertEquals(place.handles.queue, [writer.owner]);
  assertEquals(c.take(), [false, true]);
});
