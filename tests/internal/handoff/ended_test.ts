import { assert, assertEquals, assertRejects } from "@std/assert";
import { Handoff } from "../../../src/internal/handoff/handoff.ts";
import { storeOf } from "../../../src/target.ts";
import { StoreError } from "../../../src/errors.ts";
import type { Attempt, Claim, Store } from "../../../src/store.ts";
import { busy, granted, ScriptedStore } from "../../support/scripted_store.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { memory } from "../../../src/stores/memory/mod.ts";
import { LEASE, leftovers, scene } from "./scene.ts";

const claim = (): Claim => ({ name: "a", owner: crypto.randomUUID(), mode: "exclusive", lease: LEASE });

Deno.test("Runs ends a run whose holder lets its lease end and never releases", async () => {
  const { clock, store, get, wait, runs, others } = scene();
  const holder = await get(others);
  const first = (await wait("0", runs, { renew: false })).lock;
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

Deno.test("Runs wakes the members when the store is closed and its holder releases", async () => {
  const { clock, store, get, wait, runs, others } = scene();
  const holder = await get(others);
  const first = (await wait("0")).lock;
  const second = (await wait("1", runs)).lock;
  await holder.release();
  const head = await first;
  Object.defineProperty(store, "closed", { value: true });
  store.reply = () => Promise.reject(new StoreError("closed", { permanent: true }));
  head.release().catch(() => {});
  await clock.advance(0);
  await assertRejects(() => second, StoreError, "closed");
});

Deno.test("Runs hands on nothing along a late grant to a handle that was released", async () => {
  const { runs, store } = scene();
  const [other, first, second] = [claim(), claim(), claim()];
  await store.attempt(other, { enqueue: true });
  for (const each of [first, second]) await runs.attempt(each, { enqueue: true });
  await store.release(other);
  // Two attempts are under way. The second one is answered first.
  const late = Promise.withResolvers<void>();
  let asked = 0;
  store.reply = (call) => call === "attempt" && asked++ === 0 ? late.promise : undefined;
  const granting = runs.attempt(first, { enqueue: true });
  assert((await runs.attempt(first, { enqueue: true })).granted);
  assert(await runs.release(first));
  const woken = runs.wakeup(second, new AbortController().signal);
  late.resolve();
  assert((await granting).granted);
  await woken;
  assert((await runs.attempt(second, { enqueue: true })).granted);
  assert(await runs.release(second));
  assertEquals(await leftovers(store), 0);
});

Deno.test("Runs grants a member one turn when two of its attempts wait for a renewal", async () => {
  const { clock, store, runs } = scene();
  const [other, first, second] = [claim(), claim(), claim()];
  await store.attempt(other, { enqueue: true });
  for (const each of [first, second]) await runs.attempt(each, { enqueue: true });
  await store.release(other);
  assert((await runs.attempt(first, { enqueue: true })).granted);
  await clock.advance(LEASE / 5);
  await runs.release(first);
  const [one, two] = [runs.attempt(second, { enqueue: true }), runs.attempt(second, { enqueue: true })];
  assert((await one).granted);
  assert((await two).granted);
  assertEquals((await store.query()).pending, []);
  assert(await runs.release(second));
  assertEquals(await leftovers(store), 0);
});

Deno.test("Runs hands on no fence below that of a second grant without a run", async () => {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  const runs = new Handoff(store, clock);
  const [first, second] = [claim(), claim()];
  const answers: Attempt[] = [
    busy(1_000),
    { granted: true, fence: 10n, run: [second.owner] },
    // A server that was frozen executes both attempts of the first one.
    granted(12n),
    granted(13n),
  ];
  store.onAttempt = () => answers.shift()!;
  await runs.attempt(second, { enqueue: true });
  await Promise.all([runs.attempt(first, { enqueue: true }), runs.attempt(first, { enqueue: true })]);
  assert(await runs.release(first));
  assertEquals(await runs.attempt(second, { enqueue: true }), granted(13n));
});

Deno.test("storeOf() leaves a store alone that declares runs and cannot forget", () => {
  const store = memory();
  const decorated: Store = {
    capabilities: store.capabilities,
    drift: (lease) => store.drift(lease),
    attempt: (claim, options) => store.attempt(claim, options),
    renew: (claim) => store.renew(claim),
    release: (claim) => store.release(claim),
  };
  assert(storeOf(decorated) === decorated);
});
