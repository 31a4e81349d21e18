import { assert, assertEquals } from "@std/assert";
import { withLocalHandles } from "../../../src/composed/cohort/listing.ts";
import { ProcessIds } from "../../../src/composed/cohort/process_ids.ts";
import { checkMeta, readMeta } from "../../../src/internal/meta.ts";
import { ask, claimOf, grant } from "../../support/claims.ts";
import type { Claim, QueryOptions, Snapshot } from "../../../src/store.ts";
import { settled } from "../../support/virtual_clock.ts";
import { Place } from "./place.ts";

/** A claim of a new handle, which its meta names. */
function described(job: string, name = "a"): Claim {
  return { ...claimOf(name), meta: JSON.stringify({ job }) };
}

/** What is listed, by the names that the claims have in their meta. */
function jobs({ held, pending }: Snapshot): [string[], string[]] {
  const job = ({ meta }: { meta?: Readonly<Record<string, string>> | undefined }) => meta?.["job"] ?? "?";
  return [held.map(job), pending.map(job)];
}

Deno.test("CohortStore.query() lists a local holder with what is its own", async () => {
  const place = new Place({ keep: 60_000 });
  const [first, second] = [described("first"), described("second")];
  const fence = await grant(place.cohort, first);
  await ask(place.cohort, second);
  await place.clock.advance(1_000);
  await place.cohort.release(first);
  assertEquals(await grant(place.cohort, second), fence + 1n);
  const since = place.clock.now().wall;
  await place.clock.advance(500);
  const { name, owner, mode, lease } = second;
  const what = { name, owner, handle: owner, mode, permits: undefined, meta: { job: "second" } };
  const held = [{ ...what, since, expiresIn: lease - 1_500, fence: fence + 1n }];
  assertEquals(await place.cohort.query!(), { held, pending: [] });
  await place.cohort.release(second);
  await place.assertEmpty();
});

Deno.test("CohortStore.query() lists local waiters with when each began to wait", async () => {
  const place = new Place({ keep: 60_000 });
  const holder = described("holder");
  await grant(place.cohort, holder);
  const claims = [described("0"), described("1")];
  const since: number[] = [];
  for (const claim of claims) {
    await place.clock.advance(100);
    since.push(place.clock.now().wall);
    await ask(place.cohort, claim);
  }
  const stranger = described("stranger");
  await ask(place.memory, stranger);
  const snapshot = await place.cohort.query!();
  assertEquals(jobs(snapshot), [["holder"], ["0", "1", "stranger"]]);
  assertEquals(snapshot.pending.map(({ rank }) => rank), [0, 1, 2]);
  assertEquals(snapshot.pending.slice(0, 2).map((entry) => entry.since), since);
  assertEquals(snapshot.pending.map(({ owner, handle }) => owner === handle), [true, true, true]);
  await place.memory.release(stranger);
  for (const claim of [...claims, holder]) await place.cohort.release(claim);
  await place.assertEmpty();
});

Deno.test("CohortStore.query() tells the time of the store", async () => {
  const place = new Place({ keep: 60_000 });
  const [first, second, third] = [described("first"), described("second"), described("third")];
  await grant(place.cohort, first);
  await place.clock.advance(500);
  await ask(place.cohort, second);
  await ask(place.cohort, third);
  await place.cohort.release(first);
  await grant(place.cohort, second);
  const { held: [entry] } = await place.memory.query();
  // The store's clock is ahead of that of this process.
  const ahead = { held: [{ ...entry!, since: entry!.since! + 7_000 }], pending: [] };
  Object.assign(place.line, { query: () => Promise.resolve(ahead) });
  const { held, pending } = await place.cohort.query!();
  const now = place.clock.now().wall + 7_000;
  assertEquals([held[0]?.since, pending[0]?.since], [now, now]);
  for (const claim of [third, second]) await place.cohort.release(claim);
  await place.assertEmpty();
});

Deno.test("CohortStore.query() lists nobody while the lock goes back", async () => {
  const place = new Place({ keep: 60_000 });
  const claim = described("one");
  await grant(place.cohort, claim);
  let go = () => {};
  place.line.faults.release.push(async (run) => {
    await new Promise<void>((resolve) => go = resolve);
    return await run();
  });
  const released = place.cohort.release(claim);
  await settled();
  assertEquals((await place.memory.query()).held.length, 1);
  assertEquals(await place.cohort.query!(), { held: [], pending: [] });
  assertEquals(await place.cohort.query!({ name: "a" }), { held: [], pending: [] });
  go();
  await released;
  await place.assertEmpty();
});

Deno.test("CohortStore.query() lists no handle of a name that was not asked for", async () => {
  const place = new Place({ keep: 60_000 }, ["a", "b"]);
  const claims = ["a", "b"].flatMap((name) => [described(`${name} holds`, name), described(`${name} waits`, name)]);
  for (const claim of claims) await place.cohort.attempt(claim, { enqueue: true });
  const both = async (options: QueryOptions) => jobs(await place.cohort.query!(options));
  assertEquals(await both({ name: "b" }), [["b holds"], ["b waits"]]);
  assertEquals(await both({ match: "a*" }), [["a holds"], ["a waits"]]);
  assertEquals(await both({ name: "c" }), [[], []]);
  for (const claim of claims.toReversed()) await place.cohort.release(claim);
  await place.assertEmpty();
});

/** Reads all pages of one name each. */
async function pages(place: Place): Promise<[string[], string[]][]> {
  const read: [string[], string[]][] = [];
  let cursor: string | undefined;
  do {
    const page = await place.cohort.query!({ limit: 1, cursor });
    read.push(jobs(page));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return read;
}

Deno.test("CohortStore.query() lists the handles of a name on the page of its lock", async () => {
  const names = ["a", "b", "c"];
  const place = new Place({ keep: 60_000 }, names);
  const claims = names.flatMap((name) => [described(`${name} holds`, name), described(`${name} waits`, name)]);
  for (const claim of claims) await place.cohort.attempt(claim, { enqueue: true });
  assertEquals(await pages(place), names.map((name) => [[`${name} holds`], [`${name} waits`]]));
  for (const claim of claims.toReversed()) await place.cohort.release(claim);
  await place.assertEmpty();
});

Deno.test("CohortStore.query() lists once, on the first page, what only the process knows", async () => {
  const place = new Place({ keep: 60_000 }, ["z"]);
  const strangers = ["a", "b"].map((name) => described(name, name));
  for (const claim of strangers) await grant(place.memory, claim);
  let go = () => {};
  place.line.faults.attempt.push(async (run) => {
    await new Promise<void>((resolve) => go = resolve);
    return await run();
  });
  const claim = described("z", "z");
  const attempt = place.cohort.attempt(claim, { enqueue: true });
  await settled();
  assertEquals(await pages(place), [[["a"], ["z"]], [["b"], []]]);
  assertEquals(jobs(await place.cohort.query!()), [["a", "b"], ["z"]]);
  go();
  assert((await attempt).granted);
  await place.cohort.release(claim);
  for (const each of strangers) await place.memory.release(each);
  await place.assertEmpty();
});

Deno.test("withLocalHandles() adds waiters that the store has forgotten, in their order", () => {
  const wall = 1_700_000_000_000;
  const local = (job: string) => ({ claim: described(job), since: { monotonic: 0, wall } });
  const tickets = ["0", "1", "2", "3"].map(local);
  const entry = ({ owner, meta }: Claim) => {
    return { name: "a", owner, handle: owner, mode: "exclusive" as const, meta: readMeta(meta), rank: 0 };
  };
  const pending = [tickets[0]!.claim, described("stranger"), tickets[2]!.claim].map(entry);
  const listing = { held: new Map(), waiting: [], asking: undefined, tickets, known: true };
  const parts = { snapshot: { held: [], pending }, options: {}, names: ["a"], of: () => listing };
  const snapshot = withLocalHandles({ ...parts, ids: new ProcessIds() });
  assertEquals(jobs(snapshot), [[], ["0", "1", "stranger", "2", "3"]]);
  assertEquals(snapshot.pending.map(({ rank }) => rank), [0, 1, 2, 3, 4]);
  assertEquals(snapshot.pending[1]?.since, wall);
});

Deno.test("CohortStore describes its process to those who list the store", async () => {
  const place = new Place({ keep: 60_000 });
  for (const [meta, expected] of [[{ job: "one" }, readMeta(checkMeta(undefined))], [false, undefined]] as const) {
    const lock = await place.acquire({ meta });
    assertEquals((await place.memory.query()).held[0]?.meta, expected);
    await lock.release();
  }
  await place.assertEmpty();
});

Deno.test("ProcessIds makes UUIDs that only it takes for its own", () => {
  const [ids, others] = [new ProcessIds(), new ProcessIds()];
  const made = Array.from({ length: 1_000 }, () => ids.next());
  assertEquals(new Set(made).size, made.length);
  for (const id of made) {
    assert(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id), id);
    assert(ids.has(id) && !others.has(id));
  }
  for (const id of ["", crypto.randomUUID(), `${made[0]}/1`]) assert(!ids.has(id));
});
