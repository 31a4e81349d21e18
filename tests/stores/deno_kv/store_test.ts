// Deno only: it needs Deno.openKv.
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { deadline } from "@std/async";
import { acquire, type Claim, type Lock, LockLostError, StoreError, tryAcquire } from "@holdfast/lock";
import { denoKv } from "@holdfast/lock/deno-kv";
import { CasStore } from "../../../src/engine/store.ts";
import { KvBackend } from "../../../src/stores/deno_kv/store.ts";
import { backendSuite } from "../../engine/backend_suite.ts";
import { ask, claimOf, grant } from "../../support/claims.ts";
import { inTime } from "../../support/in_time.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { CountedKv } from "./counted_kv.ts";
import { engineOn } from "./engine.ts";
import { documentOf, Place } from "./place.ts";
import { refused } from "../../support/refused.ts";

/** Sooner than a waiter looks by itself, in milliseconds. */
const SOON = 4_000;

/** The options of a watch that a waiter waits for. */
const WAITED = { isWaited: true };

Deno.test("denoKv() throws for what is no Deno KV, and names the flag", async () => {
  using kv = await Deno.openKv(":memory:");
  const opening = Deno.openKv(":memory:");
  for (const wrong of [undefined, null, "kv.db", {}, opening, { get: () => {}, list: () => {}, atomic: () => {} }]) {
    assertThrows(() => denoKv(wrong as never), TypeError, "--unstable-kv");
  }
  assertThrows(() => denoKv(undefined as never), TypeError, "got undefined");
  assertThrows(() => denoKv({ ...methodsOf(kv), watch: 7 } as never), TypeError, "watch() is missing");
  assertThrows(() => denoKv(new Proxy(kv, {}) as never), TypeError, "got a Proxy whose get() does not bind");
  (await opening).close();
});

function methodsOf(kv: Deno.Kv): Record<string, unknown> {
  return { get: kv.get, list: kv.list, atomic: kv.atomic, watch: kv.watch };
}

Deno.test("denoKv() throws for a wrong option", async () => {
  using kv = await Deno.openKv(":memory:");
  assertThrows(() => denoKv(kv, { expireIn: 1_000 } as never), TypeError, '"expireIn": known are prefix');
  assertThrows(() => denoKv(kv, { prefix: 7 } as never), TypeError, "prefix must be a string: got 7");
  assertThrows(() => denoKv(kv, { prefix: "\ud800" }), TypeError, "well-formed");
  assertThrows(() => denoKv(kv, { maxClockSkew: -1 }), RangeError, "maxClockSkew");
  assertThrows(() => denoKv(kv, { observer: 7 as never }), TypeError, "observer");
});

Deno.test("denoKv() takes an observer, and declares all capabilities that callers use", async () => {
  using kv = await Deno.openKv(":memory:");
  const types: string[] = [];
  const store = denoKv(kv, { observer: ({ type }) => types.push(type) });
  await (await acquire(store, "a")).release();
  assertEquals(types, ["acquired", "released"]);
  const capabilities = ["evict", "fences", "owner", "permits", "query", "shared", "steal"];
  assertEquals([...store.capabilities ?? []].sort(), capabilities);
});

Deno.test("denoKv() keeps locks of other prefixes apart", async () => {
  using kv = await Deno.openKv(":memory:");
  const [one, other, empty] = [denoKv(kv), denoKv(kv, { prefix: "other" }), denoKv(kv, { prefix: "" })];
  for (const store of [one, other, empty]) {
    await using _lock = await acquire(store, "a", { wait: 0 });
    assertEquals((await store.query()).held.length, 1);
  }
  assertEquals((await kv.get(["holdfast", "a"])).versionstamp !== null, true);
  assertEquals((await kv.get(["other", "a"])).versionstamp !== null, true);
});

Deno.test("denoKv() lists more locks than one request of Deno KV gives", async () => {
  using kv = await Deno.openKv(":memory:");
  const store = denoKv(kv);
  const locks: Lock[] = [];
  // Without renewals, which would delay each other on a slow machine.
  const options = { lease: 600_000, renew: false };
  // More at a time would wait too long for each other.
  while (locks.length < 1_100) {
    const names = Array.from({ length: 50 }, (_, i) => `${locks.length + i}`);
    locks.push(...await Promise.all(names.map((name) => acquire(store, name, options))));
  }
  assertEquals(new Set((await store.query()).held.map(({ name }) => name)).size, 1_100);
  for (const lock of locks) await lock.release();
});

Deno.test("acquire() rejects at once for a key that is too long", async () => {
  using kv = await Deno.openKv(":memory:");
  // A key has each NUL twice.
  for (const [prefix, name] of [["a".repeat(2_000), "a".repeat(100)], ["a", "\0".repeat(1_024)]] as const) {
    await refused(() => acquire(denoKv(kv, { prefix }), name), "Key too large");
  }
  await (await acquire(denoKv(kv, { prefix: "a".repeat(900) }), "a".repeat(1_024))).release();
});

Deno.test("acquire() says what it has found that is no document", async () => {
  using kv = await Deno.openKv(":memory:");
  for (const value of ["a text", 7, { a: 1 }, null, new Uint8Array([0xff, 0xfe])]) {
    await kv.set(["holdfast", "a"], value);
    await refused(() => acquire(denoKv(kv), "a"), "is no document");
  }
});

Deno.test("attempt() refuses the waiters that do not fit, and the holder goes on", async () => {
  using kv = await Deno.openKv(":memory:");
  const store = engineOn(kv);
  const holder = claimOf("a");
  await grant(store, holder);
  // Three bytes of UTF-8 each, of which a string of Deno KV takes two.
  const meta = JSON.stringify({ text: "€".repeat(300) });
  const waiters = [];
  const fill = async () => {
    for (; waiters.length < 1_000; waiters.push(claimOf("a"))) await ask(store, { ...claimOf("a"), meta });
  };
  const { message } = await assertRejects(fill, StoreError);
  assert(message.includes(`${waiters.length} waiters`) && message.includes("65000 bytes"), message);
  const bytes = (await kv.get<Uint8Array>(["holdfast", "a"])).value!.length;
  assert(bytes > 58_000 && bytes <= 65_000, `${bytes} bytes`);
  assertEquals(await store.renew(holder), "renewed");
  assertEquals(await store.release(holder), true);
});

Deno.test("acquire() with the default meta has room for 200 waiters in a document", async () => {
  using kv = await Deno.openKv(":memory:");
  const store = denoKv(kv);
  const lock = await acquire(store, "a");
  const over = new AbortController();
  const waiting = Array.from({ length: 200 }, () => {
    return acquire(store, "a", { signal: over.signal, owner: crypto.randomUUID() });
  });
  await until(async () => (await documentOf(kv, "a")).queue.length === 200, "all are in the queue");
  over.abort(new Error("enough"));
  await Promise.allSettled(waiting);
  await lock.release();
  assertEquals(await documentOf(kv, "a").then(({ holders, queue }) => [holders, queue]), [[], []]);
});

Deno.test("attempt() is granted beside 200 shared holders, and refused without room", async () => {
  using kv = await Deno.openKv(":memory:");
  const store = engineOn(kv);
  const held: Claim[] = [];
  const meta = JSON.stringify({ host: "a".repeat(20), pid: "12345" });
  const fill = async () => {
    while (held.length < 1_000) {
      const claim = { ...claimOf("a", "shared"), meta };
      await grant(store, claim);
      held.push(claim);
    }
  };
  await assertRejects(fill, StoreError, "65000 bytes");
  assert(held.length >= 200, `${held.length} holders`);
  assertEquals(await store.renew(held[0]!), "renewed");
  for (const claim of held) await store.release(claim);
  assertEquals((await store.query!()).held, []);
});

Deno.test("acquire() rejects when the Deno KV is closed", async () => {
  const kv = await Deno.openKv(":memory:");
  const store = denoKv(kv);
  assertEquals(store.closed, false);
  kv.close();
  const error = await assertRejects(() => acquire(store, "a"), StoreError, "The Deno KV is closed");
  assert(error.permanent && error.cause instanceof Deno.errors.BadResource);
  assertEquals(store.closed, true);
  await assertRejects(() => tryAcquire(store, "a"), StoreError, "closed");
  await assertRejects(() => store.query(), StoreError, "closed");
  await assertRejects(() => store.evict("a"), StoreError, "closed");
});

Deno.test("read() and write() that are on their way say that the Deno KV was closed", async () => {
  const failures: unknown[] = [];
  // Some are done before it is closed.
  await until(async () => {
    const kv = await Deno.openKv(":memory:");
    const backend = new KvBackend(kv, "p");
    const calls = ["a", "b", "c"].flatMap((name) => [backend.read(name), backend.write(name, "text", null)]);
    kv.close();
    for (const result of await Promise.allSettled(calls)) {
      if (result.status === "rejected") failures.push(result.reason);
    }
    return failures.length > 20;
  }, "requests are on their way");
  for (const error of failures) assert(error instanceof StoreError && error.permanent, `${error}`);
});

Deno.test("acquire() that waits rejects soon when the Deno KV is closed, and leaves nothing", async () => {
  // A slow moment spoils a round.
  await until(async () => await rejectsWithin() < SOON, "it does not take until it looks", HANG_MS);
});

/** Closes a Deno KV with waiters. Returns in how many milliseconds they have rejected. */
async function rejectsWithin(): Promise<number> {
  const kv = new Place("memory");
  const counted = new CountedKv(await kv.open());
  const [a, b] = [denoKv(counted), denoKv(counted)];
  const lock = await acquire(a, "a", { lease: 60_000 });
  const waiting = [acquire(a, "a"), acquire(a, "a"), acquire(b, "a"), acquire(b, "a", { mode: "shared" })];
  await until(async () => (await a.query()).pending.length === 4, "all wait");
  await lock.extend(5_000);
  kv.close();
  const closed = performance.now();
  const results = await deadline(Promise.allSettled(waiting), HANG_MS);
  const ms = performance.now() - closed;
  for (const result of results) {
    assert(result.status === "rejected" && result.reason instanceof StoreError, `${result.status}`);
    assert(result.reason.message.includes("closed") && result.reason.permanent, result.reason.message);
  }
  // What it holds ends with its lease.
  await until(() => !lock.held, "its lease has ended");
  await assertRejects(() => lock.release(), LockLostError);
  await until(() => counted.watches === 0, "no watch is open");
  return ms;
}

Deno.test("wakeup() on a Deno KV resolves by a watch alone, at a release and at its end", async () => {
  const kv = await Deno.openKv(":memory:");
  // On a clock that stands still nobody looks, and nobody attempts again.
  const clock = new VirtualClock();
  const settings = { maxClockSkew: 10_000, observer: undefined };
  const [a, b] = [1, 2].map(() => new CasStore(new KvBackend(kv, "p"), settings, clock));
  const [holder, first, second] = ["a", "a", "a"].map((name) => claimOf(name));
  const wakeup = (claim: Claim) => inTime(b!.wakeup(claim, new AbortController().signal), HANG_MS, "the event");
  await grant(a!, holder!);
  for (const waiter of [first!, second!]) await ask(b!, waiter);
  const released = wakeup(first!);
  await a!.release(holder!);
  await released;
  await grant(b!, first!);
  const closed = wakeup(second!);
  kv.close();
  await closed;
  assert(b!.closed);
});

Deno.test("attempt() takes one trip to Deno KV where this process wrote last, else two", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = [new CountedKv(kv), new CountedKv(kv)];
  const [one, two] = [denoKv(a), denoKv(b)];
  const first = await acquire(one, "a");
  assertEquals(a.trips(), { reads: 1, writes: 1 });
  await first.extend(20_000);
  assertEquals(a.trips(), { reads: 0, writes: 1 });
  await first.release();
  assertEquals(a.trips(), { reads: 0, writes: 1 });
  await (await acquire(one, "a")).release();
  assertEquals(a.trips(), { reads: 0, writes: 2 });
  await (await acquire(two, "a")).release();
  assertEquals(b.trips(), { reads: 1, writes: 2 });
});

Deno.test("acquire() that waits writes once to queue, and leaves no watch", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = [new CountedKv(kv), new CountedKv(kv)];
  const lock = await acquire(denoKv(a), "a");
  const waiting = acquire(denoKv(b), "a");
  await until(() => b.watches === 1, "it watches");
  assertEquals(b.trips(), { reads: 1, writes: 1 });
  await lock.extend(20_000);
  await until(() => b.trips().reads > 0, "it has looked");
  assertEquals(b.trips(), { reads: 0, writes: 0 });
  await lock.release();
  const next = await waiting;
  next.signal.throwIfAborted();
  await until(() => b.trips().reads > 0, "it polls for revocation");
  assertEquals(b.watches, 0);
  await next.release();
  await until(() => a.watches === 0 && b.watches === 0, "no watch is open");
  const over = new AbortController();
  const holder = await acquire(denoKv(a), "a");
  const stopped = acquire(denoKv(b), "a", { signal: over.signal });
  await until(() => b.watches === 1, "it watches");
  over.abort(new Error("enough"));
  await assertRejects(() => stopped, Error, "enough");
  await holder.release();
  await until(() => a.watches === 0 && b.watches === 0, "no watch is open");
});

Deno.test("denoKv() never lets Deno KV expire a lock", async () => {
  using kv = await Deno.openKv(":memory:");
  const counted = new CountedKv(kv);
  await (await acquire(denoKv(counted), "a")).release();
  // An expiry would be in a third argument.
  assertEquals(counted.sets, [2, 2]);
});

backendSuite<string | null>((what, run) => {
  Deno.test(`KvBackend ${what}`, async () => {
    using kv = await Deno.openKv(":memory:");
    await run(() => new KvBackend(kv, "p"));
  });
});

Deno.test("KvBackend.watch() resolves at another version, and when its signal aborts", async () => {
  using kv = await Deno.openKv(":memory:");
  const counted = new CountedKv(kv);
  const backend = new KvBackend(counted, "p");
  const over = new AbortController();
  const listeners = listenersOf(over.signal);
  await backend.watch("a", "another", over.signal, WAITED);
  let resolved = false;
  const watch = backend.watch("a", null, over.signal, WAITED).then(() => resolved = true);
  // Other keys are none of its business.
  await kv.set(["p", "b"], 1);
  await kv.get(["p", "a"]);
  assertEquals([resolved, counted.watches], [false, 1]);
  await backend.write("a", "one", null);
  await watch;
  const { version } = await backend.read("a");
  const aborted = backend.watch("a", version, over.signal, WAITED);
  over.abort();
  await aborted;
  await backend.watch("a", version, over.signal, WAITED);
  assertEquals([counted.watches, listeners.size], [0, 0]);
});

/** Returns the listeners that are added to a signal and not removed, from now on. */
function listenersOf(signal: AbortSignal): ReadonlySet<unknown> {
  const listeners = new Set<unknown>();
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  signal.addEventListener = (type: string, listener: EventListener) => {
    listeners.add(listener);
    add(type, listener);
  };
  signal.removeEventListener = (type: string, listener: EventListener) => {
    listeners.delete(listener);
    remove(type, listener);
  };
  return listeners;
}

Deno.test("KvBackend.onClosed() calls a function once, unless that was cancelled", async () => {
  const kv = await Deno.openKv(":memory:");
  const backend = new KvBackend(kv, "p");
  const calls: string[] = [];
  backend.onClosed(() => calls.push("one"));
  backend.onClosed(() => calls.push("cancelled"))();
  kv.close();
  for (let i = 0; i < 2; i++) await assertRejects(() => backend.read("a"), StoreError, "closed");
  assertEquals([calls, backend.closed], [["one"], true]);
});
