import { assert, assertEquals, assertInstanceOf, assertRejects, assertThrows } from "@std/assert";
import { acquire, isLockLost, LockConflictError, type LockEvent, LockLostError, StoreError } from "@holdfast/lock";
import { cas } from "@holdfast/lock/cas";
import { memory } from "@holdfast/lock/memory";
import { LockManager } from "@holdfast/lock/web-locks";
import { deadline } from "@std/async";
import { validate } from "@std/uuid";
import { SystemClock } from "../../src/time/clock.ts";
import { MemoryStore } from "../../src/stores/memory/store.ts";
import { HANG_MS, until } from "../support/until.ts";
import { Documents, memoryBackend } from "../engine/memory_backend.ts";
import { granted, inTurn, refused, ScriptedStore, unreachable } from "../support/scripted_store.ts";
import { assertDomError, failure, hold, holders, pending, wait } from "./place.ts";

Deno.test("LockManager refuses what it cannot use, and sends nothing", () => {
  const store = new ScriptedStore(new SystemClock());
  assertThrows(() => new LockManager({} as never), TypeError, "store");
  assertThrows(() => new LockManager(store, { wait: 1 } as never), TypeError, '"wait"');
  assertThrows(() => new LockManager(store, { lease: 1 }), RangeError, "lease");
  assertThrows(() => new LockManager(store, { renew: "no" as never }), TypeError, "renew");
  new LockManager(store);
  assertEquals(store.calls, []);
});

Deno.test("request() asks the store nothing when it is called in the wrong way", async () => {
  const store = new ScriptedStore(new SystemClock());
  const locks = new LockManager(store);
  await assertRejects(() => locks.request("a", {} as never), TypeError, "callback");
  await assertRejects(() => locks.request("a", {}, {} as never), TypeError, "callback");
  await assertRejects(() => locks.request("a", { mode: "none" as never }, () => {}), TypeError, "mode");
  await assertDomError(locks.request("-", () => {}), "NotSupportedError");
  assertEquals(store.calls, []);
});

Deno.test("request() asks the store for its lease, with an owner that names the manager", async () => {
  const store = new ScriptedStore(new SystemClock());
  const locks = new LockManager(store, { lease: 61_234, renew: false });
  await locks.request("a", () => {});
  await locks.request("a", () => {});
  const claims = store.calls.filter(({ operation }) => operation === "attempt").map(({ claim }) => claim);
  assertEquals(claims.map(({ name, mode, lease, handle }) => ({ name, mode, lease, handle })), [
    { name: "a", mode: "exclusive", lease: 61_234, handle: undefined },
    { name: "a", mode: "exclusive", lease: 61_234, handle: undefined },
  ]);
  const ids = claims.map(({ owner }) => owner.split(":"));
  assert(ids.flat().every(validate));
  assertEquals(ids.map(([client]) => client), [locks.clientId, locks.clientId]);
  assert(ids[0]![1] !== ids[1]![1], "each request is another owner");
});

Deno.test("request() calls back with a fence that rises and a signal", async () => {
  const locks = new LockManager(memory());
  const first = await hold(locks, "a");
  const thief = await hold(locks, "a", { steal: true });
  assert(thief.lock!.fence > first.lock!.fence);
  assertEquals([first.lock!.signal.aborted, thief.lock!.signal.aborted], [true, false]);
  assertInstanceOf(first.lock!.signal.reason, LockLostError);
  await failure(first.done);
  await thief.end();
  assert(!thief.lock!.signal.aborted, "a release is no loss");
});

Deno.test("request() rejects with AbortError as soon as the lease ends", async () => {
  const held = await hold(new LockManager(memory(), { lease: 30, renew: false }), "a");
  // No timer of a lease keeps a process alive.
  const error = await deadline(failure(held.done), HANG_MS);
  assertInstanceOf(error, DOMException);
  assertEquals(error.name, "AbortError");
  assert(error.cause === held.lock!.signal.reason && error.cause instanceof LockLostError);
  assert(isLockLost(error));
});

Deno.test("request() rejects with AbortError when the release finds the lock lost", async () => {
  const store = new ScriptedStore(new SystemClock());
  store.onRelease = () => false;
  const locks = new LockManager(store);
  for (const callback of [() => "result", () => Promise.reject(new LockLostError("noticed"))]) {
    const error = await failure(locks.request<unknown>("a", callback));
    assert(error instanceof DOMException && error.name === "AbortError" && isLockLost(error));
  }
});

Deno.test("request() rejects with the callback's error though the lock was lost", async () => {
  const store = new ScriptedStore(new SystemClock());
  store.onRelease = () => false;
  const own = new Error("own");
  assert(await failure(new LockManager(store).request("a", () => Promise.reject(own))) === own);
});

Deno.test("request() gives the callback's result though the release cannot reach the store", async () => {
  const store = new ScriptedStore(new SystemClock());
  store.onRelease = unreachable;
  store.closed = true;
  assertEquals(await new LockManager(store).request("a", () => "result"), "result");
  assertEquals(store.times("release").length, 1);
});

Deno.test("request() does not call back when its signal aborts together with the grant", async () => {
  const controller = new AbortController();
  const answer = Promise.withResolvers<boolean>();
  const released = Promise.withResolvers<void>();
  const store = new ScriptedStore(new SystemClock());
  store.observer = (event: LockEvent) => {
    if (event.type === "acquired") controller.abort("enough");
    if (event.type === "released") released.resolve();
  };
  store.onRelease = () => answer.promise;
  let called = false;
  const asked = new LockManager(store).request("a", { signal: controller.signal }, () => called = true);
  // It does not wait for the release.
  assertEquals(await failure(asked), "enough");
  assertEquals([store.times("release").length, called], [1, false]);
  answer.resolve(true);
  await released.promise;
});

Deno.test("request() rejects when the store fails for good, or ifAvailable's one attempt", async () => {
  const store = new ScriptedStore(new SystemClock());
  store.onAttempt = refused;
  const locks = new LockManager(store);
  await assertRejects(() => locks.request("a", () => {}), StoreError, "NOPERM");
  store.onAttempt = unreachable;
  const error = await failure(locks.request("a", { ifAvailable: true }, () => {}));
  assert(error instanceof StoreError && error.message.includes("connection refused"), `${error}`);
  assertEquals(store.times("attempt").length, 2);
});

Deno.test("request() retries after faults from its first attempt on", async () => {
  const store = new ScriptedStore(new SystemClock());
  store.onAttempt = inTurn(unreachable, unreachable, () => granted(1n));
  assertEquals(await new LockManager(store).request("a", (lock) => lock?.fence), 1n);
  assertEquals(store.times("attempt").length, 3);
});

Deno.test("request() rejects with NotSupportedError what the store does not support", async () => {
  const store = new ScriptedStore(new SystemClock());
  const locks = new LockManager(store);
  await assertDomError(locks.request("a", { mode: "shared" }, () => {}), "NotSupportedError");
  await assertDomError(locks.request("a", { steal: true }, () => {}), "NotSupportedError");
  const signal = AbortSignal.abort("enough");
  assertEquals(await failure(locks.request("a", { mode: "shared", signal }, () => {})), "enough");
  assertEquals(store.calls, []);
  assertEquals(await locks.request("a", (lock) => lock?.fence), 1n);
});

Deno.test("request() excludes acquire() of the same name", async () => {
  const store = memory();
  const locks = new LockManager(store);
  const lock = await acquire(store, "a");
  const { signal } = lock;
  assertEquals(await locks.request("a", { ifAvailable: true }, (lock) => lock), null);
  await locks.request("a", { steal: true }, () => {});
  assert(!lock.held && signal.aborted);
  await assertRejects(() => lock.release(), LockLostError);
});

Deno.test("request() rejects while the lock is a semaphore, which query() lists as shared", async () => {
  const store = memory();
  const locks = new LockManager(store);
  await using _permit = await acquire(store, "a", { permits: 2, owner: "a:b" });
  await assertRejects(() => locks.request("a", () => {}), LockConflictError);
  assertEquals(await holders(locks, "a"), [{ name: "a", mode: "shared", clientId: "a:b" }]);
});

Deno.test("request() takes names that no store takes, but no longer ones", async () => {
  const store = new MemoryStore(undefined, new SystemClock());
  const locks = new LockManager(store);
  for (const name of ["", "\ud83d", '"\\\ude00']) {
    const held = await hold(locks, name);
    const asked = await wait(locks, name);
    assertEquals(held.lock?.name, name);
    assert(store.names.every((stored) => stored.startsWith("-")));
    for (const each of [held, asked]) await each.end();
  }
  assertEquals(await locks.request("é".repeat(512), (lock) => lock?.name.length), 512);
  await assertRejects(() => locks.request(`${"é".repeat(512)}a`, () => {}), RangeError, "1024 bytes");
});

Deno.test("request() and query() reject when they are not called on a manager", async () => {
  const { request, query } = LockManager.prototype;
  assertInstanceOf(await failure(request.call({} as never, "a", {}, () => {})), TypeError);
  assertInstanceOf(await failure(query.call({} as never)), TypeError);
});

Deno.test("query() lists the manager of each request, and the owner of other locks", async () => {
  const store = memory();
  const [a, b] = [new LockManager(store), new LockManager(store)];
  const held = await hold(a, "a", { mode: "shared" });
  const other = await acquire(store, "a", { mode: "shared" });
  const asked = await wait(b, "a");
  assertEquals(await holders(b, "a"), [
    { name: "a", mode: "shared", clientId: a.clientId },
    { name: "a", mode: "shared", clientId: other.owner },
  ]);
  assertEquals(await pending(a, "a"), [{ name: "a", mode: "exclusive", clientId: b.clientId }]);
  held.release();
  await other.release();
  await asked.end();
});

Deno.test("query() rejects with NotSupportedError when the store cannot list its locks", async () => {
  await assertDomError(new LockManager(new ScriptedStore(new SystemClock())).query(), "NotSupportedError");
});

Deno.test("request() holds the lock for as long as the callback runs, beyond its lease", async () => {
  const store = new ScriptedStore(new SystemClock());
  const renewed = Promise.withResolvers<void>();
  store.onAttempt = () => granted(7n);
  store.onRenew = () => {
    renewed.resolve();
    return "renewed";
  };
  const locks = new LockManager(store, { lease: 60_000, renew: 10 });
  await deadline(locks.request("a", () => renewed.promise), HANG_MS);
});

Deno.test("query() waits for requests that the store has not answered yet", async () => {
  const documents = new Documents();
  const backend = memoryBackend(documents);
  const gate = Promise.withResolvers<void>();
  let waiting = 0;
  const slow: typeof backend = {
    ...backend,
    write: async (...written) => {
      waiting++;
      await gate.promise;
      return await backend.write(...written);
    },
  };
  const store = cas(backend);
  const lock = await acquire(store, "a");
  const locks = new LockManager(cas(slow));
  const requests = ["a", "b"].map((name) => locks.request(name, () => {}));
  const aborted = new AbortController();
  requests.push(locks.request("c", { signal: aborted.signal }, () => {}));
  const refused = assertRejects(() => requests[2]!, DOMException, "over");
  const state = locks.query();
  // One that waits for long is sent again.
  await until(() => waiting >= 3, "three writes are sent");
  aborted.abort(new DOMException("over", "AbortError"));
  await refused;
  gate.resolve();
  assertEquals((await state).pending.map(({ name }) => name), ["a"]);
  await lock.release();
  await Promise.all(requests.slice(0, 2));
  // What was aborted is released once it is answered.
  await until(async () => (await locks.query()).held.length === 0, "nothing is held");
});
