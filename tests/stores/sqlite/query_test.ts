import { assert, assertEquals, assertRejects } from "@std/assert";
import { setImmediate } from "node:timers/promises";
import type { Claim, Entry, QueryOptions } from "../../../src/contract/store.ts";
import { grantOf, groupOf, queueUp } from "../../support/run_claims.ts";
import { ABANDONED, ask, claimOf, fenceOf, type Fixture, handles, LEASE, testWithFixture } from "./fixture.ts";
import { holderOf, sleeper } from "./waiting.ts";

/** Texts that are different locks, in the order of their bytes. */
const NAMES = [
  ...[" a", "A", "a", "a\0", "a\0b", "a\0c", "a ", "a  ", "e\u0301", "x".repeat(1_024), "\u00e9", "\u20ac"],
  ...["\ufeffa", "\uffee", "\u{1f511}", "\u{1f512}"],
];

/** The meta of a claim, and as it is listed. */
const META = { host: "web-1", job: "im\u0000port" };

/** Makes so many holders, past the stores; gives their names, which begin so, in order. */
function grantMany(fixture: Fixture, count: number, prefix = "n"): string[] {
  const { wall } = fixture.clock.now();
  const names = Array.from({ length: count }, (_, i) => `${prefix}${1_000 + i}`);
  const values = names.map((name) =>
    `('${name}', 'h', 'h', 'exclusive', ${wall + LEASE}, ${LEASE}, 1, 0, ${wall}, '{}', NULL)`
  );
  fixture.sql(`INSERT INTO holdfast_holders VALUES ${values.join()}`);
  return names;
}

/** All pages, as the names of the holders on each. */
async function pagesOf(fixture: Fixture, options: QueryOptions): Promise<string[][]> {
  const { held, cursor } = await fixture.a.query(options);
  const page = held.map(({ name }) => name);
  return cursor === undefined ? [page] : [page, ...await pagesOf(fixture, { ...options, cursor })];
}

/** What a claim and its entry have in common. */
function short({ name, owner, mode, permits }: Pick<Entry, "name" | "owner" | "mode" | "permits">) {
  return { name, owner, mode, permits };
}

testWithFixture("query() lists the holders and waiters of all processes, in order", async (fixture) => {
  const holders = [
    claimOf({ name: "a", owner: "3", permits: 2 }),
    claimOf({ name: "c", owner: "4" }),
    claimOf({ name: "b", owner: "2", mode: "shared" }),
    claimOf({ name: "b", owner: "1", mode: "shared" }),
  ];
  const waiters = ["6", "5", "7"].map((owner) => claimOf({ name: "c", owner, mode: "shared" }));
  const gone = [claimOf({ name: "d", lease: 100 }), claimOf({ name: "d" })];
  for (const claim of gone) await ask(fixture.b, claim);
  await fixture.clock.advance(ABANDONED);
  for (const claim of [...holders, ...waiters]) await ask(fixture.b, claim);
  const { held, pending, ...more } = await fixture.a.query();
  const [a, c, ...b] = holders.map(short);
  assertEquals(held.map(short), [a!, ...b, c!]);
  assertEquals(pending.map(short), waiters.map(short));
  assertEquals(pending.map(({ rank }) => rank), [0, 1, 2]);
  assertEquals(more, {});
  for (const claim of [...holders, ...waiters, ...gone]) await fixture.a.release(claim);
  assertEquals(await fixture.b.query(), { held: [], pending: [] });
});

testWithFixture("query() lists a holder with its lease, its fence and its meta", async (fixture) => {
  const [holder] = handles("me", { meta: JSON.stringify(META), permits: 2 });
  const { wall: since } = fixture.clock.now();
  const fence = await fenceOf(fixture.b.attempt(holder!, { enqueue: false }));
  await fixture.clock.advance(1_500);
  const entry = {
    name: "name",
    owner: "me",
    handle: holder!.handle!,
    mode: "exclusive",
    permits: 2,
    meta: META,
  } as const;
  assertEquals((await fixture.a.query()).held, [{ ...entry, since, expiresIn: LEASE - 1_500, fence }]);
  // Neither a renewal nor a repeated attempt makes it a new holder.
  assertEquals(await fixture.b.renew({ ...holder!, lease: 5_000 }), "renewed");
  assertEquals((await fixture.a.query()).held, [{ ...entry, since, expiresIn: 5_000, fence }]);
  assertEquals(await ask(fixture.b, { ...holder!, meta: JSON.stringify({ try: "2" }) }), true);
  assertEquals((await fixture.a.query()).held, [{ ...entry, meta: { try: "2" }, since, expiresIn: LEASE, fence }]);
  assert(await fixture.b.release(holder!));
});

testWithFixture("query() lists a waiter with its meta, its rank and its first attempt", async (fixture) => {
  const holder = await holderOf(fixture.a);
  const first = claimOf();
  const [waiter] = handles("me", { meta: JSON.stringify(META) });
  await queueUp(fixture.b, first);
  await fixture.clock.advance(20);
  const { wall: since } = fixture.clock.now();
  await queueUp(fixture.b, waiter!);
  await fixture.clock.advance(30);
  await queueUp(fixture.b, waiter!);
  const entry = { name: "name", owner: "me", handle: waiter!.handle!, mode: "exclusive", permits: undefined } as const;
  assertEquals((await fixture.a.query()).pending[1], { ...entry, meta: META, since, rank: 1 });
  for (const claim of [holder, first, waiter!]) assert(await fixture.b.release(claim));
});

testWithFixture("query() lists a waiter that becomes a holder as one since the grant", async (fixture) => {
  const holder = await holderOf(fixture.a);
  const waiter = claimOf({ meta: JSON.stringify(META) });
  await queueUp(fixture.b, waiter);
  await fixture.clock.advance(50);
  await fixture.a.release(holder);
  assertEquals(await ask(fixture.b, waiter), true);
  const { held, pending } = await fixture.a.query();
  assertEquals(held.map(({ since, meta }) => [since, meta]), [[fixture.clock.now().wall, META]]);
  assertEquals(pending, []);
  assert(await fixture.b.release(waiter));
});

testWithFixture("query() lists a handle that is granted again after its lease as a new holder", async (fixture) => {
  const holder = await holderOf(fixture.a, { lease: 100, meta: JSON.stringify({ try: "1" }) });
  await fixture.clock.advance(100);
  assertEquals((await fixture.b.query()).held, []);
  assertEquals(await ask(fixture.a, { ...holder, meta: JSON.stringify({ try: "2" }) }), true);
  const { held } = await fixture.b.query();
  assertEquals(held.map(({ since, meta }) => [since, meta]), [[fixture.clock.now().wall, { try: "2" }]]);
  assert(await fixture.a.release(holder));
});

testWithFixture("query() lists a waiter since its first attempt when the file has lost it", async (fixture) => {
  const holder = await holderOf(fixture.a);
  const waiter = claimOf({ meta: JSON.stringify(META) });
  const { wall: since } = fixture.clock.now();
  await queueUp(fixture.b, waiter);
  const asleep = sleeper(fixture.b, waiter);
  fixture.sql("DELETE FROM holdfast_queue; DELETE FROM holdfast_clients");
  await fixture.clock.advance(1_000);
  assertEquals((await fixture.a.query()).pending.map((entry) => [entry.since, entry.meta]), [[since, META]]);
  asleep.over.abort();
  for (const claim of [waiter, holder]) assert(await fixture.b.release(claim));
});

testWithFixture("query() lists a member of a run that comes back since its first attempt", async (fixture) => {
  const holder = await holderOf(fixture.a);
  const members = groupOf("name", 2);
  const { wall: since } = fixture.clock.now();
  await queueUp(fixture.b, ...members);
  await fixture.a.release(holder);
  assertEquals((await grantOf(fixture.b, members[0]!)).run, [members[1]!.owner]);
  const entries = async () => (await fixture.a.query()).pending.map(({ since, member }) => [since, member]);
  assertEquals(await entries(), [[since, true]]);
  await fixture.clock.advance(70);
  await queueUp(fixture.b, members[1]!);
  assertEquals(await entries(), [[since, undefined]]);
  for (const claim of members) assert(await fixture.b.release(claim));
});

testWithFixture("query() leaves out meta that is not a record of strings, and broken members", async (fixture) => {
  const holder = await holderOf(fixture.a, { meta: JSON.stringify(META) });
  for (const meta of ["'[\"a\"]'", "'{\"a\":1}'", "'{'", "''", "NULL"]) {
    fixture.sql(`UPDATE holdfast_holders SET meta = ${meta}`);
    assertEquals((await fixture.b.query()).held.map((entry) => entry.meta), [undefined], meta);
  }
  fixture.sql("UPDATE holdfast_holders SET members = '['");
  assertEquals((await fixture.b.query()).pending, []);
  assert(await fixture.a.release(holder));
});

testWithFixture("query() gives no lease more time than its length after the clock was set back", async (fixture) => {
  const holder = await holderOf(fixture.a);
  fixture.clock.setWall(-3_600_000);
  assertEquals((await fixture.b.query()).held.map(({ expiresIn }) => expiresIn), [LEASE]);
  assert(await fixture.a.release(holder));
});

testWithFixture("query() lists every name whole, and each is a lock of its own", async (fixture) => {
  const claims = NAMES.map((name) => claimOf({ name, owner: `${name}\0owner` }));
  for (const claim of claims.toReversed()) assertEquals(await ask(fixture.a, claim), true);
  const waiters = NAMES.map((name) => claimOf({ name, owner: `${name}\0waiter`, handle: `${name}\0waiter/1` }));
  for (const claim of waiters) assertEquals(await ask(fixture.b, claim), false);
  const { held, pending } = await fixture.b.query();
  const text = ({ name, owner, handle = owner }: Pick<Claim, "name" | "owner" | "handle">) =>
    JSON.stringify([name, owner, handle]);
  assertEquals(held.map(text), claims.map(text));
  assertEquals(pending.map(text), waiters.map(text));
  for (const claim of [...claims, ...waiters]) assert(await fixture.a.release(claim));
});

testWithFixture("query() with name lists that lock only", async (fixture) => {
  const claims = NAMES.map((name) => claimOf({ name }));
  for (const claim of claims) assertEquals(await ask(fixture.a, claim), true);
  for (const name of NAMES) {
    const { held, pending, cursor } = await fixture.b.query({ name, limit: 1 });
    assertEquals([held.map((entry) => entry.name), pending, cursor], [[name], [], undefined]);
  }
  for (const name of ["a\0d", "aa", "*"]) assertEquals(await fixture.b.query({ name }), { held: [], pending: [] });
  assertEquals((await fixture.b.query({ name: "A", cursor: " a" })).held.length, 1);
  assertEquals((await fixture.b.query({ name: "A", cursor: "A" })).held.length, 0, "of the page before");
  for (const claim of claims) await fixture.a.release(claim);
});

testWithFixture("query() with limit lists each name on one page, in the order of the names", async (fixture) => {
  const claims = NAMES.map((name) => claimOf({ name }));
  for (const claim of claims) assertEquals(await ask(fixture.a, claim), true);
  for (const limit of [1, 3, 8, 15, 16, 17]) {
    const pages = await pagesOf(fixture, { limit });
    assertEquals(pages.flat(), NAMES);
    assertEquals(pages.length, Math.ceil(NAMES.length / limit), "no page is empty");
  }
  for (const claim of claims) await fixture.a.release(claim);
});

testWithFixture("query() with match lists the names that match, from page to page", async (fixture) => {
  const claims = NAMES.map((name) => claimOf({ name }));
  for (const claim of claims) assertEquals(await ask(fixture.a, claim), true);
  const matching: [string, string[]][] = [
    ["*", NAMES],
    ["a*", ["a", "a\0", "a\0b", "a\0c", "a ", "a  "]],
    ["a\0*", ["a\0", "a\0b", "a\0c"]],
    ["*a", [" a", "a", "\ufeffa"]],
    ["a", ["a"]],
    ["", []],
    ["b*", []],
    // The first half of both keys, which no name has by itself.
    ["\ud83d*", ["\u{1f511}", "\u{1f512}"]],
    ["\u{1f511}*", ["\u{1f511}"]],
  ];
  for (const [match, names] of matching) {
    assertEquals(await pagesOf(fixture, { match }), [names], match);
    for (const limit of [1, 2, 6]) assertEquals((await pagesOf(fixture, { match, limit })).flat(), names, match);
  }
  for (const claim of claims) await fixture.a.release(claim);
});

testWithFixture("query() reads many names in parts, and lists each once", async (fixture) => {
  await fixture.a.query();
  const names = grantMany(fixture, 1_000);
  assertEquals(await pagesOf(fixture, {}), [names]);
  assertEquals((await pagesOf(fixture, { limit: 300 })).map(({ length }) => length), [300, 300, 300, 100]);
  assertEquals((await pagesOf(fixture, { match: "*7", limit: 40 })).map(({ length }) => length), [40, 40, 20]);
  assertEquals(await pagesOf(fixture, { match: "n19*" }), [names.slice(900)]);
  assertEquals(await pagesOf(fixture, { match: "n1250*", limit: 1 }), [["n1250"]]);
  // Many between what half a surrogate pair would become as text, and the keys that it begins.
  grantMany(fixture, 300, "\u{10000}");
  const keys = grantMany(fixture, 1, "\u{1f512}");
  assertEquals(await pagesOf(fixture, { match: "\ud83d*" }), [keys]);
  fixture.sql("DELETE FROM holdfast_holders");
});

testWithFixture("query() of many names lets the event loop turn", async (fixture) => {
  await fixture.a.query();
  grantMany(fixture, 1_000);
  let done = false;
  const listing = fixture.a.query().finally(() => done = true);
  await setImmediate();
  assert(!done, "other work has its turn before all have been read");
  assertEquals((await listing).held.length, 1_000);
  fixture.sql("DELETE FROM holdfast_holders");
});

testWithFixture("query() goes on past names that have dead waiters only", async (fixture) => {
  const [dead, gone, last] = [fixture.openDead(), claimOf({ name: "b" }), claimOf({ name: "c" })];
  const holders = [claimOf({ name: "a" }), claimOf({ name: "b", lease: 1_000 })];
  for (const claim of holders) await grantOf(fixture.a, claim);
  await queueUp(dead, gone);
  await fixture.clock.advance(10_000);
  await grantOf(fixture.a, last);
  assertEquals((await pagesOf(fixture, { limit: 1 })).flat(), ["a", "c"]);
  assertEquals((await fixture.a.query()).pending, []);
  for (const claim of [...holders, gone, last]) await fixture.a.release(claim);
  dead.close();
});

testWithFixture("query() lists the names of a file in UTF-16", async (fixture) => {
  fixture.sql("PRAGMA encoding = 'UTF-16le'; CREATE TABLE application (id INTEGER PRIMARY KEY)");
  const claims = NAMES.map((name) => claimOf({ name }));
  for (const claim of claims) assertEquals(await ask(fixture.a, claim), true);
  assertEquals((await pagesOf(fixture, { limit: 3 })).flat().toSorted(), NAMES.toSorted());
  assertEquals((await pagesOf(fixture, { match: "a\0*", limit: 2 })).flat().toSorted(), ["a\0", "a\0b", "a\0c"]);
  assertEquals((await fixture.a.query({ name: "\u20ac" })).held.length, 1);
  for (const claim of claims) await fixture.a.release(claim);
});

testWithFixture("query() rejects for an option that is wrong", async (fixture) => {
  await assertRejects(() => fixture.a.query({ limit: 0 }), RangeError, "limit");
  await assertRejects(() => fixture.a.query({ name: "a", match: "a*" }), TypeError, "together");
});

for (const call of ["attempt", "renew", "release", "evict"] as const) {
  for (const why of ["busy", "after a turn"]) {
    testWithFixture(`query() shows what ${call}() did that was called before, ${why}`, async (fixture) => {
      const [holder, waiter] = [claimOf(), claimOf()];
      assert(await ask(fixture.a, holder));
      const before = await fixture.a.query();
      const other = fixture.lock();
      const busy = fixture.a.attempt(claimOf({ name: "other" }), { enqueue: false });
      if (why === "after a turn") other[Symbol.dispose]();
      const called: Promise<unknown> = {
        attempt: () => ask(fixture.a, waiter),
        renew: () => fixture.a.renew({ ...holder, lease: 2 * LEASE }),
        release: () => fixture.a.release(holder),
        evict: () => fixture.a.evict("name"),
      }[call]();
      const queried = fixture.a.query({ name: "name" });
      if (why === "busy") other[Symbol.dispose]();
      await fixture.clock.advance(100);
      const { held, pending } = await queried;
      assertEquals(before.held.map(({ owner, expiresIn }) => [owner, expiresIn]), [[holder.owner, LEASE]]);
      assertEquals(pending.map(({ owner }) => owner), call === "attempt" ? [waiter.owner] : []);
      const left = call === "release" || call === "evict" ? [] : [holder.owner];
      assertEquals(held.map(({ owner }) => owner), left);
      if (call === "renew") assert(held[0]!.expiresIn! > LEASE, `${held[0]!.expiresIn}`);
      await Promise.all([busy, called]);
      await fixture.a.release(holder);
      await fixture.a.release(waiter);
      await fixture.a.evict("other");
    });
  }
}

testWithFixture("query() lists although what was called before it fails", async (fixture) => {
  assert(await ask(fixture.b, claimOf()));
  assertEquals((await fixture.a.query()).held.length, 1);
  const other = fixture.lock();
  const evicted = fixture.a.evict("name").catch((error: Error) => error.message);
  const queried = fixture.a.query();
  await fixture.clock.advance(6_000);
  assertEquals((await queried).held.length, 1);
  assert(String(await evicted).includes("5000 ms"), `${await evicted}`);
  other[Symbol.dispose]();
  assertEquals(await fixture.a.evict("name"), 1);
});
