import { assert, assertEquals, assertRejects } from "@std/assert";
import { StoreError } from "../../src/contract/errors.ts";
import type { Lock } from "../../src/lock/lock.ts";
import { onStoreClock } from "../../src/time/clock.ts";
import type { Snapshot } from "../../src/contract/store.ts";
import { claimOf } from "../support/claims.ts";
import { pair, scene } from "./noted.ts";

/** Three handles of a process in a row, which began to wait at different moments, and a rival behind them. */
async function described() {
  const all = scene();
  const holder = await all.get(all.others);
  const since: number[] = [];
  const waiters: Promise<Lock>[] = [];
  for (const job of ["0", "1", "2"]) {
    await all.clock.advance(100);
    since.push(all.clock.now().wall);
    waiters.push((await all.wait(job, all.here, { meta: { job } })).lock);
  }
  const rival = (await all.wait("s", all.others, { meta: { job: "s" } })).lock;
  await holder.release();
  const head = await waiters[0]!;
  const list = async () => await all.here.query!();
  const end = async () => {
    for (const lock of [...waiters, rival]) await (await lock).release();
  };
  return { ...all, waiters, since, head, list, end };
}

Deno.test("Handoff.query() lists the first handle of a run, and the members as waiters", async () => {
  const { clock, since, head, list, end } = await described();
  const granted = clock.now().wall;
  await clock.advance(50);
  const { held, pending } = await list();
  assertEquals(held.map(({ owner, meta }) => [owner, meta?.["job"]]), [[head.owner, "0"]]);
  assertEquals([held[0]?.since, held[0]?.fence, held[0]?.expiresIn], [granted, head.fence, 10_000 - 50]);
  assertEquals(pending.map(({ meta, rank }) => [meta?.["job"], rank]), [["1", 0], ["2", 1], ["s", 2]]);
  assertEquals(pending.slice(0, 2).map((entry) => entry.since), since.slice(1));
  await end();
});

Deno.test("Handoff.query() lists who was handed the lock, since when and with which fence", async () => {
  const { clock, waiters, since, head, list, end } = await described();
  await clock.advance(200);
  await head.release();
  const second = await waiters[1]!;
  const handedOn = clock.now().wall;
  await clock.advance(300);
  const { held, pending } = await list();
  const { owner, handle, meta, since: listed, fence, expiresIn } = held[0]!;
  assertEquals([held.length, owner, handle, meta?.["job"]], [1, second.owner, second.owner, "1"]);
  assertEquals([listed, fence, expiresIn], [handedOn, head.fence + 1n, 10_000 - 500]);
  assertEquals(pending.map(({ meta, rank }) => [meta?.["job"], rank]), [["2", 0], ["s", 1]]);
  assertEquals(pending[0]?.since, since[2]);
  await end();
});

Deno.test("Handoff.evict() finds who was handed the lock, by its handle and by its fence", async () => {
  for (const named of ["handle", "fence"] as const) {
    const { here, waiters, head, list } = await described();
    await head.release();
    const second = await waiters[1]!;
    const { handle, fence } = (await list()).held[0]!;
    assertEquals(await here.evict!("a", named === "handle" ? { handle } : { fence: fence! }), 1, named);
    assert(!second.held || await second.release().then(() => false, () => true), "it has lost the lock");
  }
});

Deno.test("Handoff.query() lists a handle last whose first attempt has failed", async () => {
  const { here, others, store, get, wait } = scene();
  const holder = await get(others);
  const [alone, late] = [claimOf("a"), claimOf("a")];
  await here.attempt(alone, { enqueue: true });
  const rival = await wait("s", others);
  const attempt = store.attempt.bind(store);
  store.attempt = () => Promise.reject(new StoreError("loading"));
  await assertRejects(() => here.attempt(late, { enqueue: true }), StoreError);
  store.attempt = attempt;
  const { pending } = await here.query!();
  assertEquals([pending.length, pending.at(-1)?.owner], [3, late.owner]);
  for (const claim of [late, alone]) await here.release(claim);
  await holder.release();
  await (await rival.lock).release();
});

Deno.test("Handoff.query() lists in every process which waiters are members of a run", async () => {
  const { others, waiters, since, head, list, store, end } = await described();
  const entries = async (query: () => Promise<Snapshot>) =>
    (await query()).pending.map(({ meta, since, member }) => [meta?.["job"], since, member]);
  const rival = ["s", since[2], undefined];
  const members = [["1", since[1], true], ["2", since[2], true]];
  for (const query of [list, () => others.query!()]) assertEquals(await entries(query), [...members, rival]);
  // Most stores do not learn that a member has been served.
  store.forget = () => {};
  await head.release();
  await waiters[1];
  assertEquals(await entries(list), [members[1], rival]);
  assertEquals(await entries(() => others.query!()), [...members, rival]);
  await end();
  assertEquals((await list()).pending, []);
});

Deno.test("Handoff.query() lists nobody as the holder until the next one has taken the lock", async () => {
  const { here, first, second } = await pair();
  assert((await here.attempt(first, { enqueue: true })).granted);
  await here.release(first);
  const { held, pending } = await here.query!();
  assertEquals(held, []);
  assertEquals(pending.map(({ owner, rank }) => [owner, rank]), [[second.owner, 0]]);
  assert((await here.attempt(second, { enqueue: true })).granted);
  assertEquals((await here.query!()).held.map(({ owner }) => owner), [second.owner]);
  await here.release(second);
});

Deno.test("onStoreClock() shifts a moment by the difference of the clocks", () => {
  const at = { monotonic: 1_000, wall: 50_000 };
  const moment = { monotonic: 1_250.4, wall: 50_250 };
  assertEquals(onStoreClock(moment, undefined, at), 50_250);
  assertEquals(onStoreClock(moment, 80_000, at), 80_250);
  assertEquals(onStoreClock(at, 80_000, moment), 79_750);
  // The wall clock was set meanwhile.
  assertEquals(onStoreClock({ ...moment, wall: 0 }, 80_000, at), 80_250);
});
