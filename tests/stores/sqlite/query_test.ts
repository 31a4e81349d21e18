import { assert, assertEquals, assertRejects } from "@std/assert";
import { setImmediate } from "node:timers/promises";
import type { Claim, Entry, QueryOptions } from "../../../src/store.ts";
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
function grantMany(site: Fixture, count: number, prefix = "n"): string[] {
  const { wall } = site.clock.now();
  const names = Array.from({ length: count }, (_, i) => `${prefix}${1_000 + i}`);
  const values = names.map((name) =>
    `('${name}', 'h', 'h', 'exclusive', ${wall + LEASE}, ${LEASE}, 1, 0, ${wall}, '{}', NULL)`
  );
  site.sql(`INSERT INTO holdfast_holders VALUES ${values.join()}`);
  return names;
}

/** All pages, as the names of the holders on each. */
async function pagesOf(site: Fixture, options: QueryOptions): Promise<string[][]> {
  const { held, cursor } = await site.a.query(options);
  const page = held.map(({ name }) => name);
  return cursor === undefined ? [page] : [page, ...await pagesOf(site, { ...options, cursor })];
}

/** What a claim and its entry have in common. */
function short({ name, owner, mode, permits }: Pick<Entry, "name" | "owner" | "mode" | "permits">) {
  return { name, owner, mode, permits };
}

testWithFixture("query() lists the holders and waiters of all processes, in order", async (site) => {
  const holders = [
    claimOf({ name: "a", owner: "3", permits: 2 }),
    claimOf({ name: "c", owner: "4" }),
    claimOf({ name: "b", owner: "2", mode: "shared" }),
    claimOf({ name: "b", owner: "1", mode: "shared" }),
  ];
  const waiters = ["6", "5", "7"].map((owner) => claimOf({ name: "c", owner, mode: "shared" }));
  const gone = [claimOf({ name: "d", lease: 100 }), claimOf({ name: "d" })];
  for (const claim of gone) await ask(site.b, claim);
  await site.clock.advance(ABANDONED);
  for (const claim of [...holders, ...waiters]) await ask(site.b, claim);
  const { held, pending, ...more } = await site.a.query();
  const [a, c, ...b] = holders.map(short);
  assertEquals(held.map(short), [a!, ...b, c!]);
  assertEquals(pending.map(short), waiters.map(short));
  assertEquals(pending.map(({ rank }) => rank), [0, 1, 2]);
  assertEquals(more, {});
  for (const claim of [...holders, ...waiters, ...gone]) await site.a.release(claim);
  assertEquals(await site.b.query(), { held: [], pending: [] });
});

testWithFixture("query() lists a holder with its lease, its fence and its meta", async (site) => {
  const [holder] = handles("me", { meta: JSON.stringify(META), permits: 2 });
  const { wall: since } = site.clock.now();
  const fence = await fenceOf(site.b.attempt(holder!, { enqueue: false }));
  await site.clock.advance(1_500);
  const entry = {
    name: "name",
    owner: "me",
    handle: holder!.handle!,
    mode: "exclusive",
    permits: 2,
    meta: META,
  } as const;
  assertEquals((await site.a.query()).held, [{ ...entry, since, expiresIn: LEASE - 1_500, fence }]);
  // Neither a renewal nor a repeated attempt makes it a new holder.
  assertEquals(await site.b.renew({ ...holder!, lease: 5_000 }), "renewed");
  assertEquals((await site.a.query()).held, [{ ...entry, since, expiresIn: 5_000, fence }]);
  assertEquals(await ask(site.b, { ...holder!, meta: JSON.stringify({ try: "2" }) }), true);
  assertEquals((await site.a.query()).held, [{ ...entry, meta: { try: "2" }, since, expiresIn: LEASE, fence }]);
  assert(await site.b.release(holder!));
});

testWithFixture("query() lists a waiter with its meta, its rank and its first attempt", async (site) => {
  const holder = await holderOf(site.a);
  const first = claimOf();
  const [waiter] = handles("me", { meta: JSON.stringify(META) });
  await queueUp(site.b, first);
  await site.clock.advance(20);
  const { wall: since } = site.clock.now();
  await queueUp(site.b, waiter!);
  await site.clock.advance(30);
  await queueUp(site.b, waiter!);
  const entry = { name: "name", owner: "me", handle: waiter!.handle!, mode: "exclusive", permits: undefined } as const;
  assertEquals((await site.a.query()).pending[1], { ...entry, meta: META, since, rank: 1 });
  for (const claim of [holder, first, waiter!]) assert(await site.b.release(claim));
});

testWithFixture("query() lists a waiter that becomes a holder as one since the grant", async (site) => {
  const holder = await holderOf(site.a);
  const waiter = claimOf({ meta: JSON.stringify(META) });
  await queueUp(site.b, waiter);
  await site.clock.advance(50);
  await site.a.release(holder);
  assertEquals(await ask(site.b, waiter), true);
  const { held, pending } = await site.a.query();
  assertEquals(held.map(({ since, meta }) => [since, meta]), [[site.clock.now().wall, META]]);
  assertEquals(pending, []);
  assert(await site.b.release(waiter));
});

testWithFixture("query() lists a handle that is granted again after its lease as a new holder", async (site) => {
  const holder = await holderOf(site.a, { lease: 100, meta: JSON.stringify({ try: "1" }) });
  await site.clock.advance(100);
  assertEquals((await site.b.query()).held, []);
  assertEquals(await ask(site.a, { ...holder, meta: JSON.stringify({ try: "2" }) }), true);
  const { held } = await site.b.query();
  assertEquals(held.map(({ since, meta }) => [since, meta]), [[site.clock.now().wall, { try: "2" }]]);
  assert(await site.a.release(holder));
});

testWithFixture("query() lists a waiter since its first attempt when the file has lost it", async (site) => {
  const holder = await holderOf(site.a);
  const waiter = claimOf({ meta: JSON.stringify(META) });
  const { wall: since } = site.clock.now();
  await queueUp(site.b, waiter);
  const asleep = sleeper(site.b, waiter);
  site.sql("DELETE FROM holdfast_queue; DELETE FROM holdfast_clients");
  await site.clock.advance(1_000);
  assertEquals((await site.a.query()).pending.map((entry) => [entry.since, entry.meta]), [[since, META]]);
  asleep.over.abort();
  for (const claim of [waiter, holder]) assert(await site.b.release(claim));
});

testWithFixture("query() lists a member of a run that comes back since its first attempt", async (site) => {
  const holder = await holderOf(site.a);
  const members = groupOf("name", 2);
  const { wall: since } = site.clock.now();
  await queueUp(site.b, ...members);
  await site.a.release(holder);
  assertEquals((await grantOf(site.b, members[0]!)).run, [members[1]!.owner]);
  const entries = async () => (await site.a.query()).pending.map(({ since, member }) => [since, member]);
  assertEquals(await entries(), [[since, true]]);
  await site.clock.advance(70);
  await queueUp(site.b, members[1]!);
  assertEquals(await entries(), [[since, undefined]]);
  for (const claim of members) assert(await site.b.release(claim));
});

testWithFixture("query() leaves out meta that is not a record of strings, and broken members", async (site) => {
  const holder = await holderOf(site.a, { meta: JSON.stringify(META) });
  for (const meta of ["'[\"a\"]'", "'{\"a\":1}'", "'{'", "''", "NULL"]) {
    site.sql(`UPDATE holdfast_holders SET meta = ${meta}`);
    assertEquals((await site.b.query()).held.map((entry) => entry.meta), [undefined], meta);
  }
  site.sql("UPDATE holdfast_holders SET members = '['");
  assertEquals((await site.b.query()).pending, []);
  assert(await site.a.release(holder));
});

testWithFixture("query() gives no lease more time than its length after the clock was set back", async (site) => {
  const holder = await holderOf(site.a);
  site.clock.setWall(-3_600_000);
  assertEquals((await site.b.query()).held.map(({ expiresIn }) => expiresIn), [LEASE]);
  assert(await site.a.release(holder));
});

testWithFixture("query() lists every name whole, and each is a lock of its own", async (site) => {
  const claims = NAMES.map((name) => claimOf({ name, owner: `${name}\0owner` }));
  for (const claim of claims.toReversed()) assertEquals(await ask(site.a, claim), true);
  const waiters = NAMES.map((name) => claimOf({ name, owner: `${name}\0waiter`, handle: `${name}\0waiter/1` }));
  for (const claim of waiters) assertEquals(await ask(site.b, claim), false);
  const { held, pending } = await site.b.query();
  const text = ({ name, owner, handle = owner }: Pick<Claim, "name" | "owner" | "handle">) =>
    JSON.stringify([name, owner, handle]);
  assertEquals(held.map(text), claims.map(text));
  assertEquals(pending.map(text), waiters.map(text));
  for (const claim of [...claims, ...waiters]) assert(await site.a.release(claim));
});

testWithFixture("query() with name lists that lock only", async (site) => {
  const claims = NAMES.map((name) => claimOf({ name }));
  for (const claim of claims) assertEquals(await ask(site.a, claim), true);
  for (const name of NAMES) {
    const { held, pending, cursor } = await site.b.query({ name, limit: 1 });
    assertEquals([held.map((entry) => entry.name), pending, cursor], [[name], [], undefined]);
  }
  for (const name of ["a\0d", "aa", "*"]) assertEquals(await site.b.query({ name }), { held: [], pending: [] });
  assertEquals((await site.b.query({ name: "A", cursor: " a" })).held.length, 1);
  assertEquals((await site.b.query({ name: "A", cursor: "A" })).held.length, 0, "of the page before");
  for (const claim of claims) await site.a.release(claim);
});

testWithFixture("query() with limit lists each name on one page, in the order of the names", async (site) => {
  const claims = NAMES.map((name) => claimOf({ name }));
  for (const claim of claims) assertEquals(await ask(site.a, claim), true);
  for (const limit of [1, 3, 8, 15, 16, 17]) {
    const pages = await pagesOf(site, { limit });
    assertEquals(pages.flat(), NAMES);
    assertEquals(pages.length, Math.ceil(NAMES.length / limit), "no page is empty");
  }
  for (const claim of claims) await site.a.release(claim);
});

testWithFixture("query() with match lists the names that match, from page to page", async (site) => {
  const claims = NAMES.map((name) => claimOf({ name }));
  for (const claim of claims) assertEquals(await ask(site.a, claim), true);
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
    assertEquals(await pagesOf(site, { match }), [names], match);
    for (const limit of [1, 2, 6]) assertEquals((await pagesOf(site, { match, limit })).flat(), names, match);
  }
  for (const claim of claims) await site.a.release(claim);
});

testWithFixture("query() reads many names in parts, and lists each once", async (site) => {
  await site.a.query();
  const names = grantMany(site, 1_000);
  assertEquals(await pagesOf(site, {}), [names]);
  assertEquals((await pagesOf(site, { limit: 300 })).map(({ length }) => length), [300, 300, 300, 100]);
  assertEquals((await pagesOf(site, { match: "*7", limit: 40 })).map(({ length }) => length), [40, 40, 20]);
  assertEquals(await pagesOf(site, { match: "n19*" }), [names.slice(900)]);
  assertEquals(await pagesOf(site, { match: "n1250*", limit: 1 }), [["n1250"]]);
  // Many between what half a surrogate pair would become as text, and the keys that it begins.
  grantMany(site, 300, "\u{10000}");
  const keys = grantMany(site, 1, "\u{1f512}");
  assertEquals(await pagesOf(site, { match: "\ud83d*" }), [keys]);
  site.sql("DELETE FROM holdfast_holders");
});

testWithFixture("query() of many names lets the event loop turn", async (site) => {
  await site.a.query();
  grantMany(site, 1_000);
  let done = false;
  const listing = site.a.query().finally(() => done = true);
  await setImmediate();
  assert(!done, "other work has its turn before all have been read");
  assertEquals((await listing).held.length, 1_000);
  site.sql("DELETE FROM holdfast_holders");
});

testWithFixture("query() goes on past names that have dead waiters only", async (site) => {
  const [dead, gone, last] = [site.openDead(), claimOf({ name: "b" }), claimOf({ name: "c" })];
  const holders = [claimOf({ name: "a" }), claimOf({ name: "b", lease: 1_000 })];
  for (const claim of holders) await grantOf(site.a, claim);
  await queueUp(dead, gone);
  await site.clock.advance(10_000);
  await grantOf(site.a, last);
  assertEquals((await pagesOf(site, { limit: 1 })).flat(), ["a", "c"]);
  assertEquals((await site.a.query()).pending, []);
  for (const claim of [...holders, gone, last]) await site.a.release(claim);
  dead.close();
});

testWithFixture("query() lists the names of a file in UTF-16", async (site) => {
  site.sql("PRAGMA encoding = 'UTF-16le'; CREATE TABLE application (id INTEGER PRIMARY KEY)");
  const claims = NAMES.map((name) => claimOf({ name }));
  for (const claim of claims) assertEquals(await ask(site.a, claim), true);
  assertEquals((await pagesOf(site, { limit: 3 })).flat().toSorted(), NAMES.toSorted());
  assertEquals((await pagesOf(site, { match: "a\0*", limit: 2 })).flat().toSorted(), ["a\0", "a\0b", "a\0c"]);
  assertEquals((await site.a.query({ name: "\u20ac" })).held.length, 1);
  for (const claim of claims) await site.a.release(claim);
});

testWithFixture("query() rejects for an option that is wrong", async (site) => {
  await assertRejects(() => site.a.query({ limit: 0 }), RangeError, "limit");
  await assertRejects(() => site.a.query({ name: "a", match: "a*" }), TypeError, "together");
});

for (const call of ["attempt", "renew", "release", "evict"] as const) {
  for (const why of ["busy", "after a turn"]) {
    testWithFixture(`query() shows what ${call}() did that was called before, ${why}`, async (site) => {
      const [holder, waiter] = [claimOf(), claimOf()];
      assert(await ask(site.a, holder));
      const before = await site.a.query();
      const other = site.lock();
      const busy = site.a.attempt(claimOf({ name: "other" }), { enqueue: false });
      if (why === "after a turn") other[Symbol.dispose]();
      const called: Promise<unknown> = {
        attempt: () => ask(site.a, waiter),
        renew: () => site.a.renew({ ...holder, lease: 2 * LEASE }),
        release: () => site.a.release(holder),
        evict: () => site.a.evict("name"),
      }[call]();
      const queried = site.a.query({ name: "name" });
      if (why === "busy") other[Symbol.dispose]();
      await site.clock.advance(100);
      const { held, pending } = await queried;
      assertEquals(before.held.map(({ owner, expiresIn }) => [owner, expiresIn]), [[holder.owner, LEASE]]);
      assertEquals(pending.map(({ owner }) => owner), call === "attempt" ? [waiter.owner] : []);
      const left = call === "release" || call === "evict" ? [] : [holder.owner];
      assertEquals(held.map(({ owner }) => owner), left);
      if (call === "renew") assert(held[0]!.expiresIn! > LEASE, `${held[0]!.expiresIn}`);
      await Promise.all([busy, called]);
      await site.a.release(holder);
      await site.a.release(waiter);
      await site.a.evict("other");
    });
  }
}

testWithFixture("query() lists although what was called before it fails", async (site) => {
  assert(await ask(site.b, claimOf()));
  assertEquals((await site.a.query()).held.length, 1);
  const other = site.lock();
  const evicted = site.a.evict("name").catch((error: Error) => error.message);
  const queried = site.a.query();
  await site.clock.advance(6_000);
  assertEquals((await queried).held.length, 1);
  assert(String(await evicted).includes("5000 ms"), `${await evicted}`);
  other[Symbol.dispose]();
  assertEquals(await site.a.evict("name"), 1);
});
