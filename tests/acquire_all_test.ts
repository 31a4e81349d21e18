import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import {
  acquire,
  acquireAll,
  LockLostError,
  LockTimeoutError,
  type Store,
  StoreError,
  tryAcquire,
} from "@holdfast/lock";
import { SystemClock } from "../src/_clock.ts";
import { MemoryStore } from "../src/stores/_memory_store.ts";
import { memory } from "@holdfast/lock/memory";

function scene(): MemoryStore {
  return new MemoryStore(undefined, new SystemClock());
}

/** A store that answers as another one does, but for what is given. */
function over(right: MemoryStore, wrong: Partial<Store>): Store {
  return {
    attempt: right.attempt.bind(right),
    renew: right.renew.bind(right),
    release: right.release.bind(right),
    wakeup: right.wakeup.bind(right),
    drift: right.drift,
    ...wrong,
  };
}

Deno.test("acquireAll() holds all names, each once and sorted, and releases them together", async () => {
  const store = scene();
  const locks = await acquireAll(store, ["b", "a", "b", "c"]);
  assertEquals(locks.names, ["a", "b", "c"]);
  assertEquals([...locks.fences.keys()], ["a", "b", "c"]);
  assert([...locks.fences.values()].every((fence) => fence > 0n));
  assertEquals([locks.held, locks.signal.aborted, store.names.length], [true, false, 3]);
  assert(locks.remaining() > 29_000, String(locks.remaining()));
  for (const name of locks.names) assertEquals(await tryAcquire(store, name), null);
  await locks.release();
  await locks.release();
  assertEquals([locks.held, locks.remaining(), store.names], [false, 0, []]);
});

Deno.test("acquireAll() asks for all names at once", async () => {
  const right = scene();
  let asking = 0;
  let most = 0;
  const store = over(right, {
    attempt: async (claim, options) => {
      most = Math.max(most, ++asking);
      await Promise.resolve();
      asking--;
      return await right.attempt(claim, options);
    },
  });
  await using locks = await acquireAll(store, ["a", "b", "c", "d"]);
  assertEquals([most, locks.held], [4, true]);
});

Deno.test("acquireAll() holds nothing when one name is busy for too long", async () => {
  const store = scene();
  await using b = await acquire(store, "b");
  for (const wait of [0, 30]) {
    await assertRejects(() => acquireAll(store, ["a", "b", "c"], { wait }), LockTimeoutError, '"b"');
    assertEquals(store.names, ["b"]);
  }
  assert(b.held);
});

Deno.test("acquireAll() keeps only names before the one that it waits for", async () => {
  const store = scene();
  const b = await acquire(store, "b");
  const waiting = acquireAll(store, ["c", "b", "a"]);
  const queued = async () => (await store.query()).pending.length === 1;
  while (!await queued()) await new Promise((resolve) => setTimeout(resolve, 1));
  const { held } = await store.query();
  assertEquals(held.map(({ name }) => name).sort(), ["a", "b"]);
  await b.release();
  const locks = await waiting;
  assertEquals(locks.names, ["a", "b", "c"]);
  await locks.release();
});

Deno.test("acquireAll() that is aborted holds nothing, and rejects with the reason", async () => {
  const store = scene();
  await using b = await acquire(store, "b");
  const controller = new AbortController();
  const waiting = acquireAll(store, ["a", "b"], { signal: controller.signal });
  const rejected = assertRejects(() => waiting, Error, "enough");
  setTimeout(() => controller.abort(new Error("enough")), 10);
  await rejected;
  while (store.names.length > 1) await new Promise((resolve) => setTimeout(resolve, 1));
  assert(b.held);
  await assertRejects(() => acquireAll(store, ["c"], { signal: controller.signal }), Error, "enough");
});

Deno.test("acquireAll() ends within its time although the store hangs when it gives a name back", async () => {
  const right = scene();
  const thaw = Promise.withResolvers<void>();
  const store = over(right, {
    release: async (claim) => {
      if (claim.name === "c") await thaw.promise;
      return await right.release(claim);
    },
  });
  await using b = await acquire(right, "b");
  // A wait does not keep the process alive.
  const alive = setInterval(() => {}, 1_000);
  const started = performance.now();
  await assertRejects(() => acquireAll(store, ["a", "b", "c"], { wait: 50 }), LockTimeoutError, '"b"');
  const after = performance.now() - started;
  clearInterval(alive);
  thaw.resolve();
  assert(after < 3_000, `it took ${after} ms; a release is tried for 5 s`);
  while (right.names.length > 1) await new Promise((resolve) => setTimeout(resolve, 1));
  assert(b.held);
  // The clock puts its timer away in the next turn.
  await new Promise((resolve) => setTimeout(resolve, 1));
});

Deno.test("acquireAll() says that the store failed, within its time, although that hangs when a name is given back", async () => {
  const right = scene();
  const thaw = Promise.withResolvers<void>();
  const store = over(right, {
    attempt: (claim, options) => {
      return claim.name === "b" ? Promise.reject(new Error("down")) : right.attempt(claim, options);
    },
    release: async (claim) => {
      if (claim.name === "a") await thaw.promise;
      return await right.release(claim);
    },
  });
  const alive = setInterval(() => {}, 1_000);
  const started = performance.now();
  await assertRejects(() => acquireAll(store, ["a", "b"], { wait: 50 }), StoreError, "down");
  const after = performance.now() - started;
  clearInterval(alive);
  thaw.resolve();
  assert(after < 3_000, `it took ${after} ms; a release is tried for 5 s`);
  while (right.names.length > 0) await new Promise((resolve) => setTimeout(resolve, 1));
  // The clock puts its timer away in the next turn.
  await new Promise((resolve) => setTimeout(resolve, 1));
});

Deno.test("acquireAll() holds the names that it was given, whatever becomes of their array", async () => {
  const store = scene();
  const names = ["a", "b"];
  const acquiring = acquireAll(store, names);
  names.length = 0;
  await using locks = await acquiring;
  assertEquals([locks.names, locks.held, store.names], [["a", "b"], true, ["a", "b"]]);
});

Deno.test("acquireAll() holds nothing when the store fails for one name", async () => {
  const right = scene();
  const store = over(right, {
    attempt: (claim, options) => {
      return claim.name === "b" ? Promise.reject(new Error("down")) : right.attempt(claim, options);
    },
  });
  await assertRejects(() => acquireAll(store, ["a", "b", "c"]), StoreError, "down");
  assertEquals(right.names, []);
});

Deno.test("acquireAll() of overlapping names never waits in a circle, and never shares a name", async () => {
  const store = scene();
  const names = ["a", "b", "c", "d", "e"];
  const inside = new Map<string, number>();
  let sections = 0;
  await Promise.all(Array.from({ length: 12 }, async (_, worker) => {
    for (let i = 0; i < 10; i++) {
      const wanted = names.filter((_, n) => (worker * 7 + i * 3 + n * n) % 5 < 3);
      await using locks = await acquireAll(store, wanted.toReversed(), { wait: 20_000 });
      for (const name of locks.names) inside.set(name, (inside.get(name) ?? 0) + 1);
      assert(locks.names.every((name) => inside.get(name) === 1), "alone");
      await Promise.resolve();
      for (const name of locks.names) inside.set(name, 0);
      sections++;
    }
  }));
  assertEquals([sections, store.names], [120, []]);
});

Deno.test("MultiLock is lost when any of its locks is lost, and the others are released all the same", async () => {
  const store = scene();
  const locks = await acquireAll(store, ["a", "b"]);
  const aborted = new Promise<void>((resolve) => locks.signal.addEventListener("abort", () => resolve()));
  await store.evict("b");
  await aborted;
  assertInstanceOf(locks.signal.reason, LockLostError);
  assertEquals([locks.held, locks.remaining()], [false, 0]);
  await assertRejects(() => locks.extend(), LockLostError, '"b"');
  await assertRejects(() => locks.release(), LockLostError, '"b"');
  await locks[Symbol.asyncDispose]();
  assertEquals(store.names, []);
});

Deno.test("MultiLock that is disposed of rejects when it was lost, unless it is not strict", async () => {
  for (const strict of [true, false]) {
    const store = scene();
    const locks = await acquireAll(store, ["a", "b"], { strict });
    await store.evict("a");
    const disposed = locks[Symbol.asyncDispose]();
    if (strict) await assertRejects(() => disposed, LockLostError, '"a"');
    else await disposed;
    assertEquals(store.names, []);
  }
});

Deno.test("MultiLock extends all of its leases", async () => {
  await using locks = await acquireAll(memory(), ["a", "b"], { lease: 1_000 });
  assert(locks.remaining() <= 1_000);
  await locks.extend(60_000);
  assert(locks.remaining() > 50_000);
  await assertRejects(() => locks.extend(1), RangeError, "lease");
});

Deno.test("acquireAll() begins again when it lost one lock while it waited for another", async () => {
  const store = scene();
  const b = await acquire(store, "b");
  const waiting = acquireAll(store, ["a", "b"], { lease: 500, renew: false });
  await new Promise((resolve) => setTimeout(resolve, 700));
  await b.release();
  await using locks = await waiting;
  assertEquals([locks.names, locks.held], [["a", "b"], true]);
});

Deno.test("acquireAll() refuses what are no names", async () => {
  const store = memory();
  await assertRejects(() => acquireAll(store, "a" as never), TypeError, 'got "a"');
  await assertRejects(() => acquireAll(store, []), RangeError, "names");
  await assertRejects(() => acquireAll(store, ["a", ""]), RangeError, "name");
  await assertRejects(() => acquireAll(store, ["a"], { wat: 1 } as never), TypeError, '"wat"');
});
