import { assert, assertEquals, assertRejects } from "@std/assert";
import { HandoffStore } from "../../src/handoff/handoff_store.ts";
import { StoreError } from "../../src/contract/errors.ts";
import type { Attempt, Claim } from "../../src/contract/store.ts";
import { busy, granted, ScriptedStore } from "../support/scripted_store.ts";
import { VirtualClock } from "../support/virtual_clock.ts";
import { LEASE, leftovers, scene } from "./noted.ts";

const claim = (): Claim => ({ name: "a", owner: crypto.randomUUID(), mode: "exclusive", lease: LEASE });

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
  const take = (name: number) => here.attempt({ ...claim(), name: `${name}` }, { enqueue: true });
  for (let name = 0; name <= 2_000; name++) await take(name);
  // Of the name 0 the first handle is forgotten, so that the second one is alone.
  for (const name of [0, 1_999]) await take(name);
  assertEquals(here.names, ["1999"]);
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
  const { here, store } = scene();
  const [other, first, second] = [claim(), claim(), claim()];
  await store.attempt(other, { enqueue: true });
  for (const each of [first, second]) await here.attempt(each, { enqueue: true });
  await store.release(other);
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
  const { clock, store, here } = scene();
  const [other, first, second] = [claim(), claim(), claim()];
  await store.attempt(other, { enqueue: true });
  for (const each of [first, second]) await here.attempt(each, { enqueue: true });
  await store.release(other);
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
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  const here = new HandoffStore(store, clock);
  const [first, second] = [claim(), claim()];
  const answers: Attempt[] = [
    busy(1_000),
    busy(1_000),
    busy(1_000),
    { granted: true, fence: 10n, run: [second.owner] },
    // A server that was frozen executes both attempts of the first one.
    granted(12n),
    granted(13n),
  ];
  store.onAttempt = () => answers.shift()!;
  // The one that was alone lines up when it attempts again.
  for (const each of [second, first, second]) await here.attempt(each, { enqueue: true });
  await Promise.all([here.attempt(first, { enqueue: true }), here.attempt(first, { enqueue: true })]);
  assert(await here.release(first));
  assertEquals(await here.attempt(second, { enqueue: true }), granted(13n));
});

Deno.test("Handoff hands on no fence of an earlier grant that is answered after a later one", async () => {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  const here = new HandoffStore(store, clock);
  const [first, second] = [claim(), claim()];
  const late = Promise.withResolvers<Attempt>();
  const answers: (Attempt | Promise<Attempt>)[] = [
    busy(1_000),
    busy(1_000),
    busy(1_000),
    late.promise,
    granted(12n),
    granted(13n),
  ];
  store.onAttempt = () => answers.shift()!;
  // The one that was alone lines up when it attempts again.
  for (const each of [second, first, second]) await here.attempt(each, { enqueue: true });
  const [one, two] = [here.attempt(first, { enqueue: true }), here.attempt(first, { enqueue: true })];
  assert((await two).granted);
  late.resolve({ granted: true, fence: 10n, run: [second.owner] });
  assert((await one).granted);
  assert(await here.release(first));
  assertEquals(await here.attempt(second, { enqueue: true }), granted(13n));
});
