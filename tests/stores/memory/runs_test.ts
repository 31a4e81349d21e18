import { assert, assertEquals } from "@std/assert";
import type { Claim } from "@holdfast/lock";
import { MemoryStore } from "../../../src/stores/memory/store.ts";
import { claimOf, grant } from "../../support/claims.ts";
import { grantOf, groupOf, handlesOf, queueUp } from "../../support/run_claims.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

/** A store whose lock has a holder, on a clock that stands still. */
async function held(): Promise<{ clock: VirtualClock; store: MemoryStore; holder: Claim }> {
  const clock = new VirtualClock();
  const store = new MemoryStore(undefined, clock);
  const holder = claimOf("a");
  await grant(store, holder);
  return { clock, store, holder };
}

Deno.test("MemoryStore.attempt() reserves all fences up to 10 ms ahead, then one each", async () => {
  const clock = new VirtualClock();
  const store = new MemoryStore(undefined, clock);
  const next = async (fences?: number) => {
    const claim = { ...claimOf("a"), fences };
    const granted = await grantOf(store, claim);
    await store.release(claim);
    return [Number(granted.fence) - clock.now().wall * 1_000, granted.fences];
  };
  assertEquals(await next(10), [0, 10]);
  assertEquals(await next(), [10, 1]);
  assertEquals(await next(1_000_000), [11, 9_990]);
  assertEquals(await next(1_000_000), [10_001, 1], "it is ahead itself");
  clock.stall(1);
  assertEquals(await next(1_000_000), [9_002, 999]);
  clock.stall(20);
  assertEquals(await next(2), [0, 2]);
});

Deno.test("MemoryStore.attempt() of an owner's, shared or permit claim gets one fence", async () => {
  const store = new MemoryStore(undefined, new VirtualClock());
  for (const claim of [claimOf("a", "shared"), claimOf("a", 2), claimOf("a", "exclusive", 1_000, "me")]) {
    assertEquals((await grantOf(store, { ...claim, fences: 5 })).fences, 1);
    await store.release(claim);
  }
});

Deno.test("MemoryStore.attempt() leaves the counter at the last fence of a run", async () => {
  const { store, holder } = await held();
  const [members, newcomer] = [groupOf("a", 4), claimOf("a")];
  await queueUp(store, ...members);
  await store.release(holder);
  const { fence, fences, run, contended } = await grantOf(store, members[0]!);
  assertEquals([fences, run, contended], [1, handlesOf(members.slice(1)), false]);
  await store.release(members[0]!);
  assertEquals(await grant(store, newcomer), fence + 4n);
});

Deno.test("MemoryStore.attempt() shortens a run whose fences would be too far ahead", async () => {
  const { store, holder } = await held();
  const block = { ...claimOf("a"), fences: 9_998 };
  await store.release(holder);
  const { fence } = await grantOf(store, block);
  const members = groupOf("a", 5);
  await queueUp(store, ...members);
  await store.release(block);
  const first = await grantOf(store, members[0]!);
  assertEquals(first.fence, fence + 9_998n);
  assertEquals([first.run, first.contended], [handlesOf(members.slice(1, 2)), true]);
  await store.release(members[0]!);
  assertEquals((await grantOf(store, members[2]!)).run, [], "there is room for nobody else");
});

Deno.test("MemoryStore.attempt() ends a run after 100 others", async () => {
  const { store, holder } = await held();
  const members = groupOf("a", 150);
  await queueUp(store, ...members);
  await store.release(holder);
  assertEquals((await grantOf(store, members[0]!)).run, handlesOf(members.slice(1, 101)));
});

Deno.test("MemoryStore.attempt() ends a run at a waiter for a permit", async () => {
  const { store, holder } = await held();
  const members = groupOf("a", 3);
  await queueUp(store, ...members.slice(0, 2));
  await store.release(holder);
  await queueUp(store, claimOf("a", 2), members[2]!);
  assertEquals((await grantOf(store, members[0]!)).run, handlesOf(members.slice(1, 2)));
});

Deno.test("MemoryStore.attempt() takes members along past a dead waiter", async () => {
  const { clock, store, holder } = await held();
  const [members, dead] = [groupOf("a", 3), claimOf("a")];
  await queueUp(store, members[0]!, dead, members[1]!, members[2]!);
  clock.stall(600);
  await queueUp(store, members[0]!, members[1]!);
  await store.release(holder);
  const { run, contended } = await grantOf(store, members[0]!);
  assertEquals([run, contended], [handlesOf(members.slice(1, 2)), false], "the third one is dead as well");
});

Deno.test("MemoryStore.forget() deletes the place of a member, and of nobody else", async () => {
  const { store, holder } = await held();
  const [members, rival] = [groupOf("a", 3), claimOf("a")];
  const [first, second, third] = members as [Claim, Claim, Claim];
  await queueUp(store, ...members);
  await store.release(holder);
  await grantOf(store, first);
  await queueUp(store, rival);
  for (const claim of [first, second, rival]) store.forget(claim);
  await queueUp(store, second, third);
  const { pending } = await store.query();
  assertEquals(pending.map(({ owner }) => owner), handlesOf([third, rival, second]));
  for (const claim of [third, rival, second, first]) assert(await store.release(claim));
  assertEquals(store.names, []);
});

Deno.test("MemoryStore.names has a name until the last member is forgotten", async () => {
  const { store, holder } = await held();
  const [first, second, third] = groupOf("a", 3) as [Claim, Claim, Claim];
  await queueUp(store, first, second, third);
  await store.release(holder);
  await grantOf(store, first);
  assert(await store.release(first));
  store.forget(second);
  assertEquals(store.names, ["a"]);
  assert(!await store.release(third));
  assertEquals(store.names, []);
});

Deno.test("MemoryStore.attempt() with steal, or again, takes nobody along", async () => {
  const { store, holder } = await held();
  const [thief, waiter] = groupOf("a", 2) as [Claim, Claim];
  await queueUp(store, waiter);
  const attempt = await store.attempt(thief, { enqueue: false, steal: true });
  assert(attempt.granted);
  const again = await grantOf(store, thief);
  assertEquals([attempt.run, attempt.contended], [[], true]);
  assertEquals([again.run, again.contended, again.fence], [[], true, attempt.fence]);
  const block = await grantOf(store, { ...thief, fences: 5 });
  assertEquals([block.fence, block.fences, block.run], [attempt.fence + 1n, 5, []], "it is not known how many it had");
  for (const claim of [thief, waiter]) assert(await store.release(claim));
  assert(!await store.release(holder));
});

Deno.test("MemoryStore.attempt() of a member comes before later waiters", async () => {
  const { store, holder } = await held();
  const [[first, second], rival] = [groupOf("a", 2) as [Claim, Claim], claimOf("a")];
  await queueUp(store, first, second);
  await store.release(holder);
  await grantOf(store, first);
  await queueUp(store, rival);
  await store.release(first);
  await grantOf(store, second);
  for (const claim of [second, rival]) assert(await store.release(claim));
});

Deno.test("MemoryStore.attempt() takes no waiter along whose owner is not fresh", async () => {
  const { store, holder } = await held();
  const [first] = groupOf("a", 1) as [Claim];
  await queueUp(store, first, { ...claimOf("a", "exclusive", 1_000, "me"), group: first.group });
  await store.release(holder);
  assertEquals((await grantOf(store, first)).run, []);
});
