import { assert, assertEquals, assertRejects } from "@std/assert";
import { HandoffStore } from "../../src/handoff/handoff_store.ts";
import { StoreError } from "../../src/contract/errors.ts";
import type { Attempt, Claim } from "../../src/contract/store.ts";
import { claimOf } from "../support/claims.ts";
import { busy, granted, ScriptedStore } from "../support/scripted_store.ts";
import { VirtualClock } from "../support/virtual_clock.ts";
import { LEASE, leftovers, pair, scene } from "./noted.ts";
import { Scene } from "./scene.ts";

/** Two handles of a process that wait in a store, which gives these answers to their next attempts. */
async function answered(answersTo: (second: Claim) => (Attempt | Promise<Attempt>)[]) {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  const here = new HandoffStore(store, clock);
  const [first, second] = [claimOf("a", "exclusive", LEASE), claimOf("a", "exclusive", LEASE)];
  const answers = [busy(1_000), busy(1_000), busy(1_000), ...answersTo(second)];
  store.onAttempt = () => answers.shift()!;
  // The one that was alone lines up when it attempts again.
  for (const each of [second, first, second]) await here.attempt(each, { enqueue: true });
  return { here, first, second };
}

Deno.test("Handoff ends a run whose holder lets its lease end and never releases", async () => {
  const { clock, store, get, wait, here, others } = scene();
  const holder = await get(others);
  const first = (await wait("0", here, { renew: false })).lock;
  const second = (await wait("1")).lock;
  const third = (await wait("2", others)).lock;
  await holder.release();
  await first;
  await clock.advance(LEASE + 1);
  assertEquals((await first).held, false);
  await (await second).release();
  await (await third).release();
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff forgets handles that are never released, the oldest first", async () => {
  const { here } = scene();
  const take = (name: number) => here.attempt(claimOf(`${name}`, "exclusive", LEASE), { enqueue: true });
  for (let name = 0; name <= 2_000; name++) await take(name);
  // Of the name 0 the first handle is forgotten, so that the second one is alone.
  for (const name of [0, 1_999]) await take(name);
  assertEquals(here.names, ["1999"]);
});

Deno.test("Handoff forgets grants that are never released where no revocation is told", async () => {
  const all = new Scene();
  const { clock, rival } = all;
  const here = all.process();
  const handoff = here.store as HandoffStore;
  Object.assign(here.line, { revocation: undefined });
  for (let name = 0; name < 2_500; name++) {
    const before = await rival.acquire({}, `${name}`);
    const first = await here.wait("first", { renew: false, lease: LEASE }, `${name}`);
    const second = await here.wait("second", { renew: false, lease: LEASE }, `${name}`);
    await before.release();
    await (await first.promise).release();
    await second.promise;
    await clock.advance(LEASE);
  }
  assert(handoff.names.length <= 1_100, `${handoff.names.length} names`);
});

Deno.test("Handoff wakes the members when the store is closed and its holder releases", async () => {
  const { clock, store, get, wait, here, others } = scene();
  const holder = await get(others);
  const first = (await wait("0")).lock;
  const second = (await wait("1", here)).lock;
  await holder.release();
  const head = await first;
  Object.defineProperty(store, "closed", { value: true });
  store.reply = () => Promise.reject(new StoreError("closed", { permanent: true }));
  head.release().catch(() => {});
  await clock.advance(0);
  await assertRejects(() => second, StoreError, "closed");
});

Deno.test("Handoff hands on nothing along a late grant to a handle that was released", async () => {
  const { here, store, first, second } = await pair();
  // Two attempts are under way. The second one is answered first.
  const late = Promise.withResolvers<void>();
  let asked = 0;
  store.reply = (call) => call === "attempt" && asked++ === 0 ? late.promise : undefined;
  const granting = here.attempt(first, { enqueue: true });
  assert((await here.attempt(first, { enqueue: true })).granted);
  assert(await here.release(first));
  const woken = here.wakeup(second, new AbortController().signal);
  late.resolve();
  assert((await granting).granted);
  await woken;
  assert((await here.attempt(second, { enqueue: true })).granted);
  assert(await here.release(second));
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff grants a member one turn when two of its attempts wait for a renewal", async () => {
  const { clock, here, store, first, second } = await pair();
  assert((await here.attempt(first, { enqueue: true })).granted);
  await clock.advance(LEASE / 5);
  await here.release(first);
  const [one, two] = [here.attempt(second, { enqueue: true }), here.attempt(second, { enqueue: true })];
  assert((await one).granted);
  assert((await two).granted);
  assertEquals((await store.query()).pending.filter(({ member }) => !member), [], "it has no place in the queue");
  assert(await here.release(second));
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff hands on no fence below that of a second grant without a run", async () => {
  // A server that was frozen executes both attempts of the first one.
  const { here, first, second } = await answered(({ owner }) => [
    { granted: true, fence: 10n, run: [owner] },
    granted(12n),
    granted(13n),
  ]);
  await Promise.all([here.attempt(first, { enqueue: true }), here.attempt(first, { enqueue: true })]);
  assert(await here.release(first));
  assertEquals(await here.attempt(second, { enqueue: true }), granted(13n));
});

Deno.test("Handoff hands on no fence of an earlier grant that is answered after a later one", async () => {
  const late = Promise.withResolvers<Attempt>();
  const { here, first, second } = await answered(() => [late.promise, granted(12n), granted(13n)]);
  const [one, two] = [here.attempt(first, { enqueue: true }), here.attempt(first, { enqueue: true })];
  assert((await two).granted);
  late.resolve({ granted: true, fence: 10n, run: [second.owner] });
  assert((await one).granted);
  assert(await here.release(first));
  assertEquals(await here.attempt(second, { enqueue: true }), granted(13n));
});
