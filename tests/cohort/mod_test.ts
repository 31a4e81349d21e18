import { assert, assertEquals, assertThrows } from "@std/assert";
import { acquire, type Store } from "@holdfast/lock";
import { cohort, type CohortOptions } from "@holdfast/lock/cohort";
import { memory } from "@holdfast/lock/memory";
import { redlock } from "@holdfast/lock/redlock";
import { HandoffStore } from "../../src/handoff/handoff_store.ts";
import { ScriptedStore } from "../support/scripted_store.ts";
import { settled, VirtualClock } from "../support/virtual_clock.ts";
import { ask, claimOf, grant } from "../support/claims.ts";
import { lost, Place } from "./place.ts";

Deno.test("cohort() throws for a wrong option", () => {
  const wrong: [unknown, typeof TypeError | typeof RangeError, string][] = [
    [{ keep: "1" }, TypeError, 'keep must be a number of milliseconds: got "1"'],
    [{ keep: 0 }, RangeError, "keep must be from 1 to 2147483647 ms: got 0"],
    [{ keep: NaN }, RangeError, "got NaN"],
    [{ linger: -1 }, RangeError, "linger must be from 0 to 2147483647 ms: got -1"],
    [{ linger: 11 }, RangeError, "linger must not be more than keep, 10 ms: got 11"],
    [{ keeps: 1 }, TypeError, 'unknown option "keeps": known are keep, linger'],
    [7, TypeError, "options must be an object: got 7"],
  ];
  for (const [options, type, words] of wrong) {
    assertThrows(() => cohort(memory(), options as CohortOptions), type, words);
  }
});

Deno.test("cohort() throws for a wrong target", () => {
  assertThrows(() => cohort("redis://localhost" as never), TypeError, 'got "redis://localhost"');
  assertThrows(() => cohort(undefined as never), TypeError, "target must be a Store");
  assertThrows(() => cohort([]), RangeError, "nodes must be from 1 to 9");
});

Deno.test("cohort() gives the same cohort for the same target and options", async () => {
  const store = memory();
  const one = cohort(store);
  assert(cohort(store, { keep: 10 }) === one);
  assert(cohort(store, { keep: 11 }) !== one);
  assert(cohort(memory()) !== one);
  const nodes = [memory(), memory(), memory()] as never[];
  assert(cohort(nodes) === cohort([...nodes]));
  assert(cohort(nodes) !== cohort([...nodes].reverse()));
  await one[Symbol.asyncDispose]();
  assert(cohort(store) !== one, "not one that was disposed of");
});

Deno.test("cohort() makes neither a cohort of a cohort nor a node of redlock()", () => {
  const made = cohort(memory());
  assertThrows(() => cohort(made), TypeError, "target must not be a cohort");
  assertThrows(() => redlock([made as never]), TypeError);
});

Deno.test("cohort() has the capabilities of its target but those of a process", () => {
  const target: Store = Object.assign(memory(), {
    capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"],
  });
  const made = cohort(target);
  assertEquals(made.capabilities, ["shared", "permits", "owner", "steal", "evict", "query"]);
  const quorum = cohort(redlock([memory()]));
  assertEquals(quorum.capabilities, ["shared", "evict", "query"]);
  const plain = cohort(new ScriptedStore(new VirtualClock()));
  assertEquals([plain.evict, plain.query], [undefined, undefined]);
});

Deno.test("cohort() serves acquire() on the clock of the machine", async () => {
  await using store = cohort(memory());
  let inside = 0;
  let last = 0n;
  await Promise.all(Array.from({ length: 32 }, async () => {
    for (let i = 0; i < 20; i++) {
      await using lock = await acquire(store, "a");
      assertEquals(++inside, 1);
      assert(lock.fence > last);
      last = lock.fence;
      await undefined;
      inside--;
    }
  }));
});

Deno.test("HandoffCohort.capabilities leaves out what its process uses by itself", () => {
  const { memory, clock, cohort } = new Place();
  const without = (...own: string[]) => memory.capabilities.filter((each) => !own.includes(each));
  assertEquals(new HandoffStore(memory, clock).capabilities, without("runs"));
  assertEquals(cohort.capabilities, without("runs", "fences"));
});

Deno.test("HandoffCohort.release() of a handle that sleeps here alone sends nothing", async () => {
  const place = new Place();
  const [holder, alone, first, sleeping] = Array.from({ length: 4 }, () => claimOf("a"));
  await grant(place.memory, holder!);
  for (const claim of [alone, first, sleeping]) await ask(place.cohort, claim!);
  place.line.calls.length = 0;
  assert(await place.cohort.release(sleeping!));
  assertEquals(place.line.calls, []);
  await place.memory.release(holder!);
  for (const claim of [alone, first]) await place.cohort.release(claim!);
  await place.assertEmpty();
});

Deno.test("HandoffCohort[Symbol.asyncDispose]() gives back, and lingers no more", async () => {
  const place = new Place({ keep: 60_000, linger: 60_000 });
  await (await place.acquire()).release();
  await place.cohort[Symbol.asyncDispose]();
  await place.assertEmpty();
  await (await place.acquire()).release();
  await place.assertEmpty();
});

Deno.test("HandoffCohort[Symbol.asyncDispose]() waits until the store has the locks back", async () => {
  const place = new Place({ keep: 60_000, linger: 60_000 });
  await (await place.acquire()).release();
  let answer = () => {};
  place.line.faults.release.push(async (go) => {
    await new Promise<void>((resolve) => answer = resolve);
    return await go();
  });
  let disposed = false;
  const disposing = place.cohort[Symbol.asyncDispose]().then(() => disposed = true);
  await settled();
  assert(!disposed);
  answer();
  await disposing;
  await place.assertEmpty();
});

Deno.test("HandoffCohort[Symbol.asyncDispose]() waits for a give-back that is retried", async () => {
  const place = new Place({ keep: 60_000, linger: 60_000 });
  await (await place.acquire()).release();
  place.line.faults.release.push(lost, lost);
  const disposing = place.cohort[Symbol.asyncDispose]().then(() => place.line.count("release"));
  await place.clock.advance(1_000);
  assertEquals(await disposing, 3);
  await place.assertEmpty();
});

Deno.test("HandoffCohort[Symbol.asyncDispose]() does not wait for a store that hangs", async () => {
  const place = new Place({ keep: 60_000, linger: 60_000 });
  await (await place.acquire()).release();
  place.line.faults.release.push(() => new Promise(() => {}));
  let disposed = false;
  const disposing = place.cohort[Symbol.asyncDispose]().then(() => disposed = true);
  await place.clock.advance(4_999);
  assert(!disposed);
  await place.clock.advance(1);
  assert(disposed);
  await disposing;
  const again = await Promise.race([place.cohort[Symbol.asyncDispose]().then(() => "disposed"), settled()]);
  assertEquals(again, "disposed", "the second time does not wait again");
});

Deno.test("HandoffCohort[Symbol.asyncDispose]() leaves locks and the order as they are", async () => {
  const place = new Place({ keep: 60_000, linger: 60_000 });
  const [holder, ...waiters] = await place.row({}, {}, {});
  await place.cohort[Symbol.asyncDispose]();
  assert(holder.held);
  await holder.extend();
  const late = await place.begin();
  await holder.release();
  for (const waiter of [...waiters, late]) {
    const lock = await waiter.promise;
    for (const other of [...waiters, late]) assertEquals(other.lock?.held === true, other === waiter);
    await lock.release();
  }
  await place.assertEmpty();
});

Deno.test("HandoffCohort.query() lists the handles that sleep among those of the store", async () => {
  const place = new Place({ keep: 60_000 });
  const rival = claimOf("a");
  const claims = [claimOf("a"), claimOf("a"), claimOf("a")];
  await grant(place.memory, rival);
  const owners = async () => {
    const { held, pending } = await place.cohort.query!();
    return [held.map(({ owner }) => owner), pending.map(({ owner }) => owner)];
  };
  for (const claim of claims) assert(!(await place.cohort.attempt(claim, { enqueue: true })).granted);
  const last = claimOf("a");
  assert(!(await place.memory.attempt(last, { enqueue: true })).granted);
  const [a, b, c] = claims.map(({ owner }) => owner);
  assertEquals(await owners(), [[rival.owner], [a, b, c, last.owner]]);
  await place.memory.release(rival);
  await settled();
  assertEquals(await grant(place.cohort, claims[0]!) > 0n, true);
  assertEquals(await owners(), [[a], [b, c, last.owner]]);
  await place.memory.release(last);
  for (const claim of claims) await place.cohort.release(claim);
  assertEquals(await owners(), [[], []]);
  await place.assertEmpty();
});

Deno.test("HandoffCohort notifies the observer of its store of its handles only", async () => {
  const place = new Place({ keep: 60_000 });
  const [first, waiter] = await place.row({}, {});
  const names: string[] = [];
  Object.assign(place.line, { observer: (event: { type: string; owner: string }) => names.push(event.owner) });
  place.line.faults.release.push(lost);
  await first.release();
  const locks = [first, await waiter!.promise];
  const released = locks[1]!.release();
  await place.clock.advance(1_000);
  await released;
  assertEquals(new Set(names), new Set(locks.map(({ owner }) => owner)));
  await place.assertEmpty();
});

Deno.test("HandoffCohort forgets names, also those whose handles never come back", async () => {
  const place = new Place();
  for (let i = 0; i < 5_000; i++) {
    const claims = [claimOf(`${i}`, "exclusive", 10), claimOf(`${i}`), claimOf(`${i}`)];
    await grant(place.cohort, claims[0]!);
    for (const claim of claims.slice(1)) await ask(place.cohort, claim);
    if (i % 2 === 0) { for (const claim of claims) await place.cohort.release(claim); }
    place.clock.stall(100);
  }
  await settled();
  const { names } = place.cohort;
  assert(names.length > 0 && names.length < 2_500, `${names.length} names`);
});
