import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { acquire, type Claim, LockLostError } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { storeSuite } from "@holdfast/testing";
import { SystemClock } from "../../../src/time/clock.ts";
import { entryOf } from "../../../src/internal/listing/query_options.ts";
import { MemoryStore } from "../../../src/stores/memory/store.ts";
import { ask, claimOf, grant, LONG } from "../../support/claims.ts";
import { settled, VirtualClock } from "../../support/virtual_clock.ts";

storeSuite({
  test: (name, run) => Deno.test(`memory: ${name}`, run),
  capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"],
  open: () => {
    const store = new MemoryStore(undefined, new SystemClock());
    return { connect: () => store, leftovers: () => store.names, close: () => {} };
  },
});

Deno.test("memory() throws a TypeError for an unknown or wrong option", () => {
  assertThrows(() => memory({ prefix: "a" } as never), TypeError, '"prefix"');
  assertThrows(() => memory({ observer: "a" } as never), TypeError, "observer");
});

Deno.test("MemoryStore.attempt() raises forgotten fences, also after a clock step", async () => {
  const clock = new VirtualClock();
  const store = new MemoryStore(undefined, clock);
  const fence = async (name: string) => {
    const claim = { name, owner: crypto.randomUUID(), mode: "exclusive", lease: 1_000 } as const;
    const attempt = await store.attempt(claim, { enqueue: false });
    await store.release(claim);
    assert(attempt.granted);
    return attempt.fence;
  };
  const names = Array.from({ length: 5_000 }, (_, i) => `job ${i}`);
  const last = new Map<string, bigint>();
  for (const name of names) last.set(name, await fence(name));
  for (const back of [0, 60_000]) {
    clock.setWall(-back);
    for (const name of names) {
      const next = await fence(name);
      assert(next > last.get(name)!, `${next} follows ${last.get(name)}`);
      last.set(name, next);
    }
  }
});

Deno.test("MemoryStore.release() admits all at the head that can hold the lock together", async () => {
  const store = new MemoryStore(undefined, new VirtualClock());
  for (const kind of ["shared", 2] as const) {
    const claims = Array.from({ length: 4 }, () => claimOf("a", kind));
    const [first, second, third, newcomer] = claims as [Claim, Claim, Claim, Claim];
    const holders = kind === 2 ? [claimOf("a", 2), claimOf("a", 2)] : [claimOf("a")];
    for (const claim of holders) assert((await store.attempt(claim, { enqueue: false })).granted);
    const over = new AbortController();
    let woken = 0;
    for (const claim of [first, second]) {
      assert(!(await store.attempt(claim, { enqueue: true })).granted, "it waits");
      store.wakeup(claim, over.signal).then(() => woken++);
    }
    for (const claim of holders) await store.release(claim);
    await Promise.resolve();
    assert(woken === 2, "both are woken");
    // A newcomer shares the lock at once, but gets no permit that a waiter has been woken for.
    const attempt = await store.attempt(newcomer, { enqueue: false });
    assert(attempt.granted === (kind === "shared"), "a newcomer");
    // Neither has to wait for the other one.
    for (const claim of [second, first]) assert((await store.attempt(claim, { enqueue: true })).granted, "granted");
    assert((await store.attempt(third, { enqueue: true })).granted === (kind === "shared"), "a third");
    for (const claim of claims) await store.release(claim);
    over.abort();
    assert(store.names.length === 0, "nothing is left");
  }
});

Deno.test("MemoryStore.attempt() lets nobody overtake an exclusive waiter", async () => {
  const store = new MemoryStore(undefined, new VirtualClock());
  const [holder, reader, writer, newcomer] = [
    claimOf("a"),
    claimOf("a", "shared"),
    claimOf("a"),
    claimOf("a", "shared"),
  ];
  assert((await store.attempt(holder, { enqueue: false })).granted);
  for (const claim of [reader, writer]) assert(!(await store.attempt(claim, { enqueue: true })).granted, "it waits");
  await store.release(holder);
  for (const claim of [newcomer, writer]) assert(!(await store.attempt(claim, { enqueue: false })).granted, "refused");
  assert((await store.attempt(reader, { enqueue: true })).granted, "its turn");
});

Deno.test("MemoryStore.attempt() wakes the other handles of an owner that gets the lock", async () => {
  const store = new MemoryStore(undefined, new VirtualClock());
  const holder = claimOf("a");
  const [first, rival, second] = [handleOfMe(), claimOf("a"), handleOfMe()];
  await grant(store, holder);
  const over = new AbortController();
  const woken: Claim[] = [];
  for (const claim of [first, rival, second]) {
    await ask(store, claim);
    store.wakeup(claim, over.signal).then(() => woken.push(claim));
  }
  await store.release(holder);
  await settled();
  assertEquals(woken, [first], "its turn");
  await grant(store, first);
  await settled();
  assertEquals(woken, [first, second], "past the rival");
  over.abort();
});

Deno.test("MemoryStore.wakeup() resolves at once if the turn came before the call", async () => {
  const store = new MemoryStore(undefined, new VirtualClock());
  const [holder, first, second] = [claimOf("a"), claimOf("a"), claimOf("a")];
  await grant(store, holder);
  for (const claim of [first, second]) await ask(store, claim);
  await store.release(holder);
  const over = new AbortController();
  const woken: Claim[] = [];
  for (const claim of [second, first]) store.wakeup(claim, over.signal).then(() => woken.push(claim));
  await settled();
  assertEquals(woken, [first]);
  over.abort();
});

Deno.test("MemoryStore.wakeup() that ends leaves a later call of the same waiter", async () => {
  const clock = new VirtualClock();
  const store = new MemoryStore(undefined, clock);
  const [holder, waiter] = [claimOf("a"), claimOf("a")];
  await grant(store, holder);
  await ask(store, waiter);
  const [first, second] = [new AbortController(), new AbortController()];
  const ended = store.wakeup(waiter, first.signal);
  let woken = false;
  const woke = store.wakeup(waiter, second.signal).then(() => woken = true);
  first.abort();
  await ended;
  clock.stall(store.queueTimeout);
  await store.release(holder);
  await settled();
  assert(woken);
  second.abort();
  await woke;
});

Deno.test("MemoryStore.attempt() overtakes no waiter that was woken after a long sleep", async () => {
  const clock = new VirtualClock();
  const store = new MemoryStore(undefined, clock);
  const [holder, waiter] = [claimOf("a"), claimOf("a")];
  await grant(store, holder);
  await ask(store, waiter);
  const woken = store.wakeup(waiter, new AbortController().signal);
  clock.stall(store.queueTimeout);
  await store.release(holder);
  await ask(store, claimOf("a"));
  await woken;
  await grant(store, waiter);
});

Deno.test("MemoryStore.renew() that is late changes nothing, also after a repeated attempt", async () => {
  const clock = new VirtualClock();
  const store = new MemoryStore(undefined, clock);
  const claim = claimOf("a", "exclusive", 1_000);
  await grant(store, claim);
  assertEquals(await store.renew({ ...claim, lease: LONG, renewal: 2 }), "renewed");
  await grant(store, claim);
  assertEquals(await store.renew({ ...claim, renewal: 1 }), "renewed", "a later one counts");
  clock.stall(LONG - 1);
  assertEquals(await store.renew({ ...claim, renewal: 3 }), "renewed", "it was held");
});

Deno.test("MemoryStore.names forgets names never released, and keeps held ones", async () => {
  const clock = new VirtualClock();
  const store = new MemoryStore(undefined, clock);
  const take = async (name: string, lease: number) => {
    const claim = { name, owner: crypto.randomUUID(), mode: "exclusive", lease } as const;
    const attempt = await store.attempt(claim, { enqueue: false });
    assert(attempt.granted);
  };
  await take("kept", 60_000);
  for (let i = 0; i < 10_000; i++) {
    await take(`once ${i}`, 10);
    clock.stall(1);
  }
  assert(store.names.length < 2_500, `${store.names.length} names`);
  assert(store.names.includes("kept"));
});

Deno.test("MemoryStore.vote() counts the fences of each name separately", async () => {
  const clock = new VirtualClock();
  const store = new MemoryStore(undefined, clock);
  const vote = async (name: string, guess: bigint) => {
    const claim = { name, owner: crypto.randomUUID(), mode: "exclusive", lease: 1_000 } as const;
    const vote = await store.vote(claim, { enqueue: false, guess, maxClockSkew: 0 });
    await store.release(claim);
    return vote.granted && vote.raised;
  };
  assert(await vote("a", 7n));
  assert(await vote("b", 3n), "another name");
  assert(!await vote("a", 7n));
});

Deno.test("MemoryStore.attempt() passes over a waiter that was woken and died then", async () => {
  const clock = new VirtualClock();
  const store = new MemoryStore(undefined, clock);
  const [holder, dead, next] = [claimOf("a"), claimOf("a"), claimOf("a")];
  await grant(store, holder);
  await ask(store, dead);
  const woken = store.wakeup(dead, new AbortController().signal);
  await store.release(holder);
  await woken;
  clock.stall(store.queueTimeout - 1);
  await ask(store, next);
  clock.stall(1);
  await grant(store, next);
});

Deno.test("MemoryStore.evict() wakes the next waiter", async () => {
  const store = new MemoryStore(undefined, new VirtualClock());
  const [holder, waiter] = [claimOf("a"), claimOf("a")];
  await grant(store, holder);
  await ask(store, waiter);
  const over = new AbortController();
  let woken = false;
  store.wakeup(waiter, over.signal).then(() => woken = true);
  await settled();
  assert(!woken, "not yet");
  assertEquals(await store.evict("a"), 1);
  await settled();
  assert(woken, "its turn");
  over.abort();
});

Deno.test("MemoryStore.attempt() that finds the lease over wakes the next waiter", async () => {
  const clock = new VirtualClock();
  const store = new MemoryStore(undefined, clock);
  await grant(store, claimOf("a", "exclusive", 100));
  const [first, newcomer] = [claimOf("a"), claimOf("a")];
  await ask(store, first);
  const woken = store.wakeup(first, new AbortController().signal).then(() => "woken");
  clock.stall(100);
  await ask(store, newcomer);
  assertEquals(await Promise.race([woken, settled()]), "woken");
});

Deno.test("MemoryStore.inspect() says whether the claim fits beside the holders", async () => {
  const store = new MemoryStore(undefined, new VirtualClock());
  const holder = claimOf("a", "shared");
  await grant(store, holder);
  const states = [holder, claimOf("a", "shared"), claimOf("a")].map(async (claim) =>
    (await store.inspect(claim)).state
  );
  assertEquals(await Promise.all(states), ["held", "free", "taken"]);
});

Deno.test("MemoryStore.attempt() has a claim ask again when the first permit may be free", async () => {
  for (const [kind, retryAfter] of [[2, 30], ["shared", 90]] as const) {
    const store = new MemoryStore(undefined, new VirtualClock());
    for (const lease of [90, 30]) await grant(store, claimOf("a", kind, lease));
    assertEquals(await ask(store, claimOf("a", kind === 2 ? 2 : "exclusive")), retryAfter);
  }
});

Deno.test("MemoryStore.attempt() has a claim ask seldom while a free lock waits for another", async () => {
  const store = new MemoryStore(undefined, new VirtualClock());
  const holder = claimOf("a");
  await grant(store, holder);
  await ask(store, claimOf("a"));
  await store.release(holder);
  assertEquals(await ask(store, claimOf("a")), 200);
});

Deno.test("MemoryStore.retake() of a holder depends on the counter, and changes nothing", async () => {
  const clock = new VirtualClock();
  const store = new MemoryStore(undefined, clock);
  const claim = claimOf("a");
  assert(await store.retake(claim, 7n, 0n), "the node has nothing");
  assertEquals(await store.inspect(claim), { state: "held", counter: 7n });
  assert(await store.retake(claim, 7n, 0n), "repeated");
  assert(await store.retake(claim, 3n, 7n), "the counter is what that makes of it");
  assert(!await store.retake(claim, 9n, 7n), "the counter would be raised");
  clock.stall(LONG - 1);
  assert(await store.retake({ ...claim, lease: 2 * LONG }, 7n), "repeated late");
  clock.stall(1);
  assertEquals(await store.inspect(claim), { state: "free", counter: 7n });
});

Deno.test("MemoryStore.revocation() that ends leaves the watch of a later grant", async () => {
  const store = new MemoryStore(undefined, new VirtualClock());
  const claim = claimOf("a");
  const [first, second] = [new AbortController(), new AbortController()];
  assert((await store.attempt(claim, { enqueue: false })).granted);
  const ended = store.revocation(claim, first.signal);
  await store.release(claim);
  assert((await store.attempt(claim, { enqueue: false })).granted);
  let revoked = false;
  const watching = store.revocation(claim, second.signal).then(() => revoked = true);
  first.abort();
  await ended;
  await store.evict("a");
  await Promise.resolve();
  assert(revoked);
  second.abort();
  await watching;
});

/** A claim of one more handle of the owner "me". */
function handleOfMe(): Claim {
  return claimOf("a", "exclusive", LONG, "me");
}

Deno.test("MemoryStore.query() lists holders and waiters with all that it knows of them", async () => {
  const clock = new VirtualClock();
  const store = new MemoryStore(undefined, clock);
  const began = clock.now().wall;
  const [holder, waiter] = [
    { ...claimOf("a", "shared", 1_000, "me"), meta: '{"job":"import"}' },
    claimOf("a", "exclusive", 1_000),
  ];
  const fence = await grant(store, holder);
  clock.stall(100);
  await ask(store, waiter);
  clock.stall(50);
  assertEquals(await store.query(), {
    held: [{ ...entryOf(holder), since: began, expiresIn: 850, fence }],
    pending: [{ ...entryOf(waiter), since: began + 100, rank: 0 }],
  });
  assertEquals(await store.renew({ ...holder, lease: 5_000, renewal: 1 }), "renewed");
  await ask(store, waiter);
  const { held, pending } = await store.query({ name: "a" });
  assertEquals([held[0]?.since, held[0]?.expiresIn, pending[0]?.since], [began, 5_000, began + 100]);
});

Deno.test("MemoryStore.query() lists no lock whose lease has ended, by name or on a page", async () => {
  const clock = new VirtualClock();
  const store = new MemoryStore(undefined, clock);
  for (const [i, name] of ["a", "b", "c", "d"].entries()) {
    await grant(store, claimOf(name, "exclusive", i % 2 === 0 ? 100 : LONG));
  }
  clock.stall(100);
  assertEquals(await store.query({ name: "a" }), { held: [], pending: [] });
  const listed: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.query({ limit: 1, cursor });
    listed.push(...page.held.map(({ name }) => name));
    cursor = page.cursor;
  } while (cursor !== undefined);
  assertEquals(listed, ["b", "d"]);
});

Deno.test("MemoryStore.query() rejects for wrong options", async () => {
  const store = new MemoryStore(undefined, new VirtualClock());
  await assertRejects(() => store.query({ limit: 0 }), RangeError, "limit");
  await assertRejects(() => store.query({ name: "a", match: "a" }), TypeError, "together");
});

Deno.test("memory() has query() and evict(), as its type says", async () => {
  const store = memory();
  const lock = await acquire(store, "a", { strict: false });
  const { held } = await store.query({ name: "a" });
  assertEquals(held.map(({ fence }) => fence), [lock.fence]);
  assertEquals([await store.evict("a"), await store.evict("a")], [1, 0]);
  await assertRejects(() => lock.release(), LockLostError);
});
