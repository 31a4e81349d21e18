import { assert, assertEquals, assertRejects } from "@std/assert";
import { ask, claimOf, grant } from "../support/claims.ts";
import { NAME, Place } from "./controlled_backend.ts";
import { StoreError } from "../../src/contract/errors.ts";

/** Returns a claim with a description of so many characters, each of `bytes` bytes. */
function described(characters: number, letter: string) {
  return { ...claimOf(NAME), meta: JSON.stringify({ job: letter.repeat(characters) }) };
}

Deno.test("change() refuses no call because of what is remembered", async () => {
  const place = new Place();
  const maxBytes = 12_500;
  const [a, b, c] = [0, 1, 2].map(() => place.connect({ maxBytes }));
  const held = claimOf(NAME);
  await grant(a!.store, held);
  const waiters = Array.from({ length: 8 }, () => described(800, "x"));
  for (const waiter of waiters) await ask(b!.store, waiter);
  // It remembers a document that is full.
  await assertRejects(() => c!.store.attempt(described(800, "x"), { enqueue: true }), StoreError);
  for (const waiter of waiters) await b!.store.release(waiter);
  const late = described(800, "x");
  await ask(c!.store, late);
  assertEquals(place.handles.queue, [late.owner]);
});

Deno.test("change() does not execute a call that it has refused", async () => {
  const place = new Place();
  const [a, b, c] = [0, 1, 2].map(() => place.connect({ maxBytes: 12_500 }));
  const held = claimOf(NAME);
  await grant(a!.store, held);
  const waiters = Array.from({ length: 8 }, () => described(800, "x"));
  for (const waiter of waiters) await ask(b!.store, waiter);
  // It goes together with a release, whose write is refused because there is room again.
  let left = 2;
  c!.backend.onWrite = async (execute) => {
    if (--left === 0) { for (const waiter of waiters) await b!.store.release(waiter); }
    return await execute();
  };
  const [, , late] = await Promise.allSettled([
    c!.store.release(claimOf(NAME)),
    c!.store.release(claimOf(NAME)),
    c!.store.attempt(described(800, "x"), { enqueue: true }),
  ]);
  assertEquals(place.handles.queue.length, late.status === "fulfilled" ? 1 : 0);
});

Deno.test("change() counts the room of waiters in bytes", async () => {
  const place = new Place();
  const maxBytes = 12_000;
  const [a, b] = [place.connect({ maxBytes }), place.connect({ maxBytes })];
  const held = claimOf(NAME);
  await grant(a.store, held);
  await a.store.renew(held);
  // 300 characters are 900 bytes.
  await Promise.allSettled(Array.from({ length: 30 }, () => b.store.attempt(described(300, "€"), { enqueue: true })));
  const { value } = place.documents.texts.get(NAME)!;
  const bytes = new TextEncoder().encode(value).length;
  assert(bytes <= maxBytes - 4_000, `${bytes} bytes`);
});

Deno.test("change() keeps its lock while a call pauses", async () => {
  const place = new Place();
  const { store, backend } = place.connect();
  const other = place.connect().store;
  await grant(other, claimOf(NAME, "shared"));
  // Its write is refused, so that the call pauses.
  let left = 1;
  backend.onWrite = async (execute) => {
    if (left-- > 0) await other.attempt(claimOf(NAME, "shared"), { enqueue: false });
    return await execute();
  };
  const granted = store.attempt(claimOf(NAME, "shared"), { enqueue: false });
  await place.clock.advance(0);
  assertEquals(left, 0);
  // What is not remembered is forgotten at 2,000 names.
  backend.onWrite = () => Promise.reject(new Error("not now"));
  await assertRejects(() => store.renew(claimOf(NAME)), Error);
  for (let i = 0; i < 2_100; i++) await assertRejects(() => store.release(claimOf(`other ${i}`)), Error);
  let [writing, most] = [0, 0];
  backend.onWrite = async (execute) => {
    most = Math.max(most, ++writing);
    await place.clock.sleep(100);
    return await execute().finally(() => writing--);
  };
  const second = store.attempt(claimOf(NAME, "shared"), { enqueue: false });
  await place.clock.advance(10);
  const third = store.attempt(claimOf(NAME, "shared"), { enqueue: false });
  await place.clock.advance(1_000);
  await Promise.all([granted, second, third]);
  assertEquals(most, 1);
});

Deno.test("change() declares no lease over while its clocks disagree", async () => {
  const place = new Place();
  const [{ store }, other] = [place.connect(), place.connect()];
  await grant(store, claimOf(NAME, "exclusive", 30_000));
  other.backend.onRead = async (execute) => {
    const found = await execute();
    place.clock.setWall(3_600_000);
    return found;
  };
  const attempt = await other.store.attempt(claimOf(NAME), { enqueue: false });
  assertEquals(attempt.granted, false);
});

Deno.test("change() keeps the clock of the server if a write does not tell it", async () => {
  const place = new Place({ ahead: 3_600_000 });
  const { store, backend } = place.connect();
  backend.onWrite = async (execute) => {
    const reply = await execute();
    return reply.written ? { written: true, version: reply.version } : { written: false };
  };
  const held = claimOf(NAME, "exclusive", 30_000);
  await grant(store, held);
  assertEquals(await store.renew(held), "renewed");
  const attempt = await place.connect().store.attempt(claimOf(NAME), { enqueue: false });
  assertEquals(attempt.granted, false);
});

Deno.test("change() gives up after 10 s in which each write is refused", async () => {
  const place = new Place();
  const { store, backend } = place.connect();
  backend.onWrite = () => Promise.resolve({ written: false });
  const renewed = assertRejects(() => store.renew(claimOf(NAME)), StoreError, "others wrote it first");
  const attempted = assertRejects(() => store.attempt(claimOf(NAME), { enqueue: false }), StoreError);
  await place.clock.advance(60_000);
  await Promise.all([renewed, attempted]);
  assert(backend.writes < 250, `${backend.writes} writes`);
  assertEquals(place.clock.pending, 0);
});

Deno.test("change() gives up when its process has slept while a call paused, and goes on", async () => {
  const place = new Place();
  const { store, backend } = place.connect();
  const held = claimOf(NAME, "exclusive", 600_000);
  await grant(store, held);
  const refuse = () => Promise.resolve({ written: false } as const);
  backend.onWrite = refuse;
  const evicted = assertRejects(() => store.evict(NAME), StoreError, "wrote it first");
  await place.clock.advance(1_000);
  place.clock.stall(60_000);
  await place.clock.advance(5_000);
  await evicted;
  backend.onWrite = (execute) => execute();
  assertEquals(await store.release(held), true);
  assertEquals([place.handles.queue, place.clock.pending], [[], 0]);
});

Deno.test("change() waits for a read no longer than a third of the shortest lease", async () => {
  const place = new Place();
  const { store, backend } = place.connect();
  const held = claimOf(NAME, "exclusive", 900);
  await grant(store, held);
  backend.onRead = () => new Promise(() => {});
  const hung = assertRejects(() => store.attempt(claimOf(NAME), { enqueue: false }), Error, "no answer to a read");
  const renewed = store.renew(held);
  await place.clock.advance(301);
  await hung;
  assertEquals(await renewed, "renewed");
});

Deno.test("change() does not limit reads by a lease that it saw longer ago than it lasts", async () => {
  const place = new Place({ ahead: 0 });
  const [a, b] = [place.connect(), place.connect()];
  // Over a network on which an answer takes 50 ms.
  b.backend.onRead = async (execute) => {
    await place.clock.sleep(50);
    return await execute();
  };
  const attempt = async () => {
    const attempted = b.store.attempt(claimOf(NAME), { enqueue: false });
    await place.clock.advance(50);
    return (await attempted).granted;
  };
  await grant(a.store, claimOf(NAME, "exclusive", 100));
  assertEquals(await attempt(), false);
  await place.clock.advance(101);
  assertEquals(await attempt(), true);
});

Deno.test("change() refuses a further holder when the document is full", async () => {
  const place = new Place();
  const maxBytes = 8_000;
  const [a, b] = [place.connect({ maxBytes }), place.connect({ maxBytes })];
  const holders = Array.from({ length: 50 }, () => claimOf(NAME, "shared"));
  const granted = [];
  for (const holder of holders) {
    const attempt = await a.store.attempt(holder, { enqueue: false }).catch((error) => error);
    if (attempt.granted) granted.push(holder);
    else assert(attempt instanceof StoreError && attempt.message.includes(`${granted.length} holders`), `${attempt}`);
  }
  assert(granted.length > 10 && granted.length < 50, `${granted.length} granted`);
  const { value } = place.documents.texts.get(NAME)!;
  assert(value.length <= maxBytes, `${value.length} characters`);
  for (const holder of granted) assertEquals(await a.store.renew(holder), "renewed");
  assertEquals(await a.store.release(granted[0]!), true);
  await grant(b.store, claimOf(NAME, "shared"));
});

Deno.test("attempt() steals from the holders that fill a document", async () => {
  const place = new Place();
  const { store } = place.connect({ maxBytes: 8_000 });
  const holders = Array.from({ length: 50 }, () => claimOf(NAME, "shared"));
  for (const holder of holders) await store.attempt(holder, { enqueue: false }).catch(() => {});
  const thief = claimOf(NAME);
  await grant(store, thief, { steal: true });
  assertEquals(place.handles.holders, [thief.owner]);
});

Deno.test("change() counts the room of holders that are granted the lock together", async () => {
  const place = new Place();
  const maxBytes = 8_000;
  const { store } = place.connect({ maxBytes });
  const holders = Array.from({ length: 100 }, () => ({ ...claimOf(NAME, "shared"), meta: described(100, "x").meta }));
  const answers = await Promise.allSettled(holders.map((claim) => store.attempt(claim, { enqueue: false })));
  const granted = answers.filter(({ status }) => status === "fulfilled").length;
  const { length } = place.documents.texts.get(NAME)!.value;
  assert(granted > 5 && length <= maxBytes, `${granted} granted, ${length} bytes`);
});

Deno.test("change() keeps room for holders whose leases are prolonged", async () => {
  const place = new Place({ ahead: 0.123 });
  const maxBytes = 65_000;
  const { store } = place.connect({ maxBytes });
  const granted = [];
  for (const claim of Array.from({ length: 400 }, () => claimOf(NAME, "shared"))) {
    const attempt = await store.attempt(claim, { enqueue: false }).catch(() => undefined);
    if (attempt?.granted) granted.push(claim);
  }
  for (const claim of granted) await store.renew({ ...claim, lease: 90_000, renewal: 1 });
  const { length } = place.documents.texts.get(NAME)!.value;
  assert(granted.length < 400 && length <= maxBytes, `${length} bytes`);
});

Deno.test("query() leaves out what is no document, and names it when asked for it", async () => {
  const place = new Place();
  const { store } = place.connect();
  await grant(store, claimOf(NAME));
  place.documents.set("other", "a text of another program");
  assertEquals((await store.query!()).held.map(({ name }) => name), [NAME]);
  await assertRejects(() => store.query!({ name: "other" }), StoreError, 'lock "other"');
});

Deno.test("query() lists no lease that is over, and what is left of one that was cut", async () => {
  const place = new Place({ ahead: 0 });
  const { store } = place.connect();
  await grant(store, claimOf(NAME, "shared", 1_000));
  await grant(store, claimOf(NAME, "shared", 10_000));
  const listed = async () =>
    (await store.query!({ name: NAME })).held.map(({ expiresIn }) => 100 * Math.round(expiresIn! / 100));
  assertEquals(await listed(), [1_000, 10_000]);
  await place.clock.advance(1_100);
  assertEquals(await listed(), [8_900]);
  // By a clock that was set back it would last an hour longer.
  place.clock.setWall(-3_600_000);
  assertEquals(Math.max(...await listed()), 10_000);
});
