import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { acquire, isLockLost, type Lock, LockLostError, LockTimeoutError, StoreError, withLock } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { SystemClock } from "../../src/time/clock.ts";
import { MemoryStore } from "../../src/stores/memory/store.ts";
import { refused, ScriptedStore } from "../support/scripted_store.ts";
import { settled, VirtualClock } from "../support/virtual_clock.ts";

function scene(): MemoryStore {
  return new MemoryStore(undefined, new SystemClock());
}

function assertSame(actual: unknown, expected: unknown): void {
  assert(Object.is(actual, expected), `${actual} is not ${expected}`);
}

/** Runs a body whose lock is taken away meanwhile, and gives what comes out. */
async function whileLost(body: (lock: Lock) => unknown, strict = true): Promise<unknown> {
  const store = scene();
  const run = withLock(store, "a", { strict }, async (lock) => {
    await store.evict("a");
    return await body(lock);
  });
  const outcome = await run.catch((error: unknown) => error);
  assertEquals(store.names, []);
  return outcome;
}

Deno.test("withLock() gives what its body returns, and holds the lock meanwhile", async () => {
  const store = scene();
  const bodies = [
    (lock: Lock) => [lock.held, lock.name, store.names],
    async (lock: Lock) => await Promise.resolve([lock.held, lock.name, store.names]),
  ];
  for (const body of bodies) {
    assertEquals(await withLock(store, "a", body), [true, "a", ["a"]]);
    assertEquals(await withLock(store, "a", undefined, body), [true, "a", ["a"]]);
    assertEquals(await withLock(store, "a", { wait: 0 }, body), [true, "a", ["a"]]);
    assertEquals(store.names, []);
  }
});

Deno.test("withLock() lets the error of its body through, at once or later, and releases", async () => {
  const store = scene();
  const error = new Error("of the body");
  const bodies = [() => Promise.reject(error), () => {
    throw error;
  }];
  for (const body of bodies) {
    assertSame(await withLock(store, "a", body).catch((error: unknown) => error), error);
    assertEquals([store.names, "cause" in error], [[], false]);
  }
});

Deno.test("withLock() gives the loss of the lock as the cause of the body's error", async () => {
  const error = new Error("of the body");
  const outcome = await whileLost(() => Promise.reject(error));
  assertSame(outcome, error);
  assertInstanceOf(error.cause, LockLostError);
  assert(isLockLost(error) && !Object.keys(error).includes("cause"), "as the constructor sets it");
});

Deno.test("withLock() puts the loss at the end of the causes that the body's error has", async () => {
  const root = new Error("root");
  const error = new Error("of the body", { cause: root });
  assertSame(await whileLost(() => Promise.reject(error)), error);
  assertSame(error.cause, root);
  assertInstanceOf(root.cause, LockLostError);
});

Deno.test("withLock() leaves an error as it is that can have no cause or has the loss", async () => {
  const circular = new Error("circular");
  circular.cause = new Error("other", { cause: circular });
  for (const error of [Object.freeze(new Error("frozen")), "text", null, undefined, 7, circular]) {
    assertSame(await whileLost(() => Promise.reject(error)), error);
  }
  const throwing = (lock: Lock) => lock.signal.throwIfAborted();
  const lost = await whileLost(throwing);
  assert(lost instanceof LockLostError && lost.cause === undefined, "the reason of the signal itself");
});

Deno.test("withLock() whose lock was lost rejects once its body has finished", async () => {
  let finished = false;
  const outcome = await whileLost(async () => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    finished = true;
    return "result";
  });
  assert(outcome instanceof LockLostError && finished, `${outcome}`);
});

Deno.test("withLock() with strict: false settles as its body does", async () => {
  assertEquals(await whileLost(() => "result", false), "result");
  const error = new Error("of the body");
  assertSame(await whileLost(() => Promise.reject(error), false), error);
  assertEquals("cause" in error, false);
});

Deno.test("withLock() lets its body release the lock early", async () => {
  const store = scene();
  const result = await withLock(store, "a", async (lock) => {
    await lock.release();
    await using other = await acquire(store, "a", { wait: 0 });
    return other.held;
  });
  assertEquals([result, store.names], [true, []]);
});

Deno.test("withLock() keeps its result although the store fails at the release", async () => {
  const store = new ScriptedStore(new VirtualClock());
  store.onRelease = refused;
  assertEquals(await withLock(store, "a", () => "result"), "result");
  const error = new Error("of the body");
  assertSame(await withLock(store, "a", () => Promise.reject(error)).catch((error: unknown) => error), error);
});

Deno.test("withLock() rejects as acquire() does, and does not call its body then", async () => {
  const store = memory();
  await using _lock = await acquire(store, "a");
  const body = () => assert(false, "called");
  await assertRejects(() => withLock(store, "a", { wait: 0 }, body), LockTimeoutError);
  await assertRejects(() => withLock(store, "", body), RangeError, "name");
  await assertRejects(() => withLock(store, "b", { wat: 1 } as never, body), TypeError, '"wat"');
  const down = new ScriptedStore(new VirtualClock());
  down.onAttempt = refused;
  await assertRejects(() => withLock(down, "a", body), StoreError, "NOPERM");
});

Deno.test("withLock() refuses a body that is no function, and sends nothing", async () => {
  const store = new ScriptedStore(new VirtualClock());
  await assertRejects(() => withLock(store, "a", {} as never), TypeError, "body must be a function");
  await assertRejects(() => withLock(store, "a", {}, undefined as never), TypeError, "body");
  assertEquals(store.calls, []);
});

Deno.test("withLock() sets the cause as the constructor of an error does", async () => {
  const error = new Error("of the body");
  await whileLost(() => Promise.reject(error));
  const { value: _, ...given } = Object.getOwnPropertyDescriptor(error, "cause") ?? {};
  const { value: __, ...made } = Object.getOwnPropertyDescriptor(new Error("", { cause: 1 }), "cause") ?? {};
  assertEquals(given, made);
});

Deno.test("withLock() settles only when its lock is released, whatever its body came to", async () => {
  for (const body of [() => "result", () => Promise.reject(new Error("of the body"))]) {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const store = new ScriptedStore(new VirtualClock());
    store.onRelease = () => promise;
    let done = false;
    const run = withLock(store, "a", body).catch(() => {}).finally(() => done = true);
    await settled();
    assertEquals([store.times("release").length, done], [1, false]);
    resolve(true);
    await run;
  }
});

Deno.test("withLock() gives the loss of the lock no cause when its body rejects with that", async () => {
  const lost = await whileLost((lock) => lock.extend());
  assert(lost instanceof LockLostError && !("cause" in lost), "the loss that extend() noticed");
});
