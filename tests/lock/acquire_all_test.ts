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
import { SystemClock } from "../../src/time/clock.ts";
import { MemoryStore } from "../../src/stores/memory/store.ts";
import { memory } from "@holdfast/lock/memory";
import { getEventListeners } from "node:events";
import { busy, granted, hanging, refused, ScriptedStore, unreachable } from "../support/scripted_store.ts";
import { settled, VirtualClock } from "../support/virtual_clock.ts";
import { asCallersSee } from "../handoff/scene.ts";
import { onClock } from "../simulation/handoff/stores.ts";

const HOUR = 3_600_000;

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
  const locks = await acquireAll(store, ["b", "a", "b", "c"], { lease: HOUR });
  assertEquals(locks.names, ["a", "b", "c"]);
  assertEquals([...locks.fences.keys()], ["a", "b", "c"]);
  assert([...locks.fences.values()].every((fence) => fence > 0n));
  assertEquals([locks.held, locks.signal.aborted, store.names.length], [true, false, 3]);
  assert(locks.remaining() > HOUR / 2, String(locks.remaining()));
  for (const name of locks.names) assertEquals(await tryAcquire(store, name), null);
  await locks.release();
  await locks.release();
  assertEquals([locks.held, locks.remaining(), store.names], [false, 0, []]);
});

Deno.test("acquireAll() attempts all names at once", async () => {
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

/** A little shorter than a release is tried, in milliseconds. */
const RELEASE_TRIED_MS = 4_900;

Deno.test("acquireAll() ends within its time although the store hangs at a release", async () => {
  const clock = new VirtualClock();
  const right = new MemoryStore(undefined, clock);
  const thaw = Promise.withResolvers<void>();
  const store = over(right, {
    release: async (claim) => {
      if (claim.name === "c") await thaw.promise;
      return await right.release(claim);
    },
  });
  onClock(store, clock);
  await using b = await acquire(right, "b");
  let error: unknown;
  acquireAll(store, ["a", "b", "c"], { wait: 50 }).catch((reason) => error = reason);
  await clock.advance(RELEASE_TRIED_MS);
  assertInstanceOf(error, LockTimeoutError, "it does not wait for the release");
  assert(error.message.includes('"b"'), error.message);
  thaw.resolve();
  await settled();
  assertEquals([right.names, b.held], [["b"], true]);
});

Deno.test("acquireAll() reports the fault within its time although a release hangs", async () => {
  const clock = new VirtualClock();
  const right = new MemoryStore(undefined, clock);
  const thaw = Promise.withResolvers<void>();
  const store = over(right, {
    attempt: (claim, options) => {
      return claim.name === "b" ? refused() : right.attempt(claim, options);
    },
    release: async (claim) => {
      if (claim.name === "a") await thaw.promise;
      return await right.release(claim);
    },
  });
  onClock(store, clock);
  let error: unknown;
  acquireAll(store, ["a", "b"], { wait: 50 }).catch((reason) => error = reason);
  await clock.advance(RELEASE_TRIED_MS);
  assertInstanceOf(error, StoreError, "it does not wait for the release");
  assert(error.message.includes("NOPERM"), error.message);
  thaw.resolve();
  await settled();
  assertEquals(right.names, []);
});

Deno.test("acquireAll() holds the names that it was given, whatever becomes of their array", async () => {
  const store = scene();
  const names = ["a", "b"];
  const acquiring = acquireAll(store, names);
  names.length = 0;
  await using locks = await acquiring;
  assertEquals([locks.names, locks.held, store.names], [["a", "b"], true, ["a", "b"]]);
});

Deno.test("acquireAll() holds nothing when one name fails for good or without time to wait", async () => {
  for (const [wait, fail] of [[Infinity, refused], [5_000, refused], [0, unreachable]] as const) {
    const right = scene();
    const store = over(right, {
      attempt: (claim, options) => claim.name === "b" ? fail() : right.attempt(claim, options),
    });
    await assertRejects(() => acquireAll(store, ["a", "b", "c"], { wait }), StoreError);
    assertEquals(right.names, []);
  }
});

Deno.test("acquireAll() retries faults in all of its steps, and leaves nothing behind", async () => {
  for (const failing of ["a", "b", "c", "abc"]) {
    const right = scene();
    let faults = 0;
    // Each name fails when all are tried, and twice while it is waited for; every other attempt was executed all the
    // same.
    const failures = new Map([...failing].map((name) => [name, 3]));
    const store = over(right, {
      attempt: async (claim, options) => {
        const left = failures.get(claim.name) ?? 0;
        if (left === 0) return await right.attempt(claim, options);
        failures.set(claim.name, left - 1);
        if (faults++ % 2 === 0) await right.attempt(claim, options);
        throw new Error("reply lost");
      },
    });
    const locks = await acquireAll(store, ["c", "a", "b"], { wait: 60_000 });
    assertEquals([locks.names, locks.held, faults], [["a", "b", "c"], true, 3 * failing.length]);
    await locks.release();
    while (right.names.length > 0) await new Promise((resolve) => setTimeout(resolve, 1));
  }
});

Deno.test("acquireAll() retries the name that it waits for, and keeps its place", async () => {
  const right = scene();
  let failing = false;
  let faults = 0;
  const store = over(right, {
    attempt: async (claim, options) => {
      if (!failing) return await right.attempt(claim, options);
      failing = ++faults < 3;
      throw new Error("down");
    },
  });
  const b = await acquire(right, "b");
  const waiting = acquireAll(store, ["a", "b", "c"]);
  const queued = async () => (await right.query()).pending.length;
  while (await queued() === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  const later = acquire(right, "b");
  while (await queued() === 1) await new Promise((resolve) => setTimeout(resolve, 1));
  failing = true;
  await b.release();
  const locks = await waiting;
  assertEquals([locks.names, faults], [["a", "b", "c"], 3]);
  await locks.release();
  await (await later).release();
});

Deno.test("acquireAll() whose store failed until its time is over reports the fault", async () => {
  const right = scene();
  const store = over(right, {
    attempt: (claim, options) => claim.name === "b" ? unreachable() : right.attempt(claim, options),
    connectionError: new Error("connect ECONNREFUSED"),
  });
  const alive = setInterval(() => {}, 1_000);
  const error = await assertRejects(
    () => acquireAll(store, ["a", "b", "c"], { wait: 100 }),
    StoreError,
    "ECONNREFUSED",
  );
  assertEquals(error.cause, store.connectionError);
  clearInterval(alive);
  while (right.names.length > 0) await new Promise((resolve) => setTimeout(resolve, 1));
});

/** Has workers take overlapping names, each alone, so many times each. Returns how often. */
async function overlap(
  store: Store,
  names: readonly string[],
  { workers, each, wait }: { workers: number; each: number; wait: number },
) {
  const inside = new Map<string, number>();
  let sections = 0;
  await Promise.all(Array.from({ length: workers }, async (_, worker) => {
    for (let i = 0; i < each; i++) {
      const wanted = names.filter((_, n) => (worker * 7 + i * 3 + n * n) % 5 < 3);
      await using locks = await acquireAll(store, wanted.toReversed(), { wait });
      for (const name of locks.names) inside.set(name, (inside.get(name) ?? 0) + 1);
      assert(locks.names.every((name) => inside.get(name) === 1), "alone");
      await Promise.resolve();
      for (const name of locks.names) inside.set(name, 0);
      sections++;
    }
  }));
  return sections;
}

Deno.test("acquireAll() of names that fail at times never deadlocks or shares a name", async () => {
  const right = scene();
  let asked = 0;
  const store = over(right, {
    attempt: async (claim, options) => {
      const attempt = await right.attempt(claim, options);
      if (asked++ % 5 === 0) throw new Error("reply lost");
      return attempt;
    },
    release: async (claim) => {
      const released = await right.release(claim);
      if (asked++ % 5 === 0) throw new Error("reply lost");
      return released;
    },
  });
  assertEquals(await overlap(store, ["a", "b", "c", "d"], { workers: 8, each: 5, wait: 60_000 }), 40);
  while (right.names.length > 0) await new Promise((resolve) => setTimeout(resolve, 1));
});

Deno.test("acquireAll() of overlapping names never deadlocks or shares a name", async () => {
  const store = scene();
  const sections = await overlap(store, ["a", "b", "c", "d", "e"], { workers: 12, each: 10, wait: 60_000 });
  assertEquals([sections, store.names], [120, []]);
});

Deno.test("MultiLock is lost with any of its locks, and the others are released", async () => {
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
  await using locks = await acquireAll(memory(), ["a", "b"], { lease: 60_000 });
  assert(locks.remaining() <= 60_000);
  await locks.extend(HOUR);
  assert(locks.remaining() > HOUR / 2);
  await assertRejects(() => locks.extend(1), RangeError, "lease");
});

Deno.test("acquireAll() begins again when it lost one lock while it waited for another", async () => {
  const clock = new VirtualClock();
  const store = onClock(asCallersSee(new MemoryStore(undefined, clock), clock), clock);
  const b = await acquire(store, "b");
  const waiting = acquireAll(store, ["a", "b"], { lease: 500, renew: false });
  await clock.advance(700);
  await b.release();
  await clock.advance(400);
  await using locks = await waiting;
  assertEquals([locks.names, locks.held], [["a", "b"], true]);
});

Deno.test("acquireAll() begins again when it lost a lock in the middle", async () => {
  const right = scene();
  let lost = false;
  const heard = Promise.withResolvers<void>();
  const store = over(right, {
    renew: async (claim) => {
      if (claim.name !== "b" || lost) return await right.renew(claim);
      lost = true;
      await right.release(claim);
      return "lost";
    },
    observer: (event) => {
      if (event.type === "lost") heard.resolve();
    },
  });
  const d = await acquire(right, "d");
  const waiting = acquireAll(store, ["a", "b", "c", "d"], { renew: 10 });
  const queued = async () => (await right.query()).pending.length === 1;
  while (!await queued()) await new Promise((resolve) => setTimeout(resolve, 1));
  await heard.promise;
  await d.release();
  await using locks = await waiting;
  assertEquals([locks.held, right.names], [true, ["a", "b", "c", "d"]]);
});

Deno.test("acquireAll() acquires names in the order of their code units, in every locale", async () => {
  await using locks = await acquireAll(memory(), ["b", "\u00e4", "B", "a", "A", "_"]);
  assertEquals(locks.names, ["A", "B", "_", "a", "b", "\u00e4"]);
});

Deno.test("acquireAll() refuses invalid names", async () => {
  const store = memory();
  await assertRejects(() => acquireAll(store, "a" as never), TypeError, 'got "a"');
  await assertRejects(() => acquireAll(store, []), RangeError, "names");
  await assertRejects(() => acquireAll(store, ["a", ""]), RangeError, "name");
  await assertRejects(() => acquireAll(store, ["a"], { wat: 1 } as never), TypeError, '"wat"');
});

Deno.test("acquireAll() queues for no name before it has tried all of them", async () => {
  const right = scene();
  const asked: string[] = [];
  const store = over(right, {
    attempt: (claim, options) => {
      asked.push(`${claim.name}${options.enqueue ? " queues" : ""}`);
      return right.attempt(claim, options);
    },
  });
  const b = await acquire(right, "b");
  const waiting = acquireAll(store, ["a", "b"]);
  while (asked.length < 3) await settled();
  await b.release();
  await (await waiting).release();
  assertEquals(asked.slice(0, 3), ["a", "b", "b queues"]);
});

Deno.test("acquireAll() with wait: 1 queues as well, and retries a fault", async () => {
  const store = new ScriptedStore(new SystemClock());
  const queued: string[] = [];
  store.onAttempt = ({ name }, { enqueue }) => {
    if (enqueue) queued.push(name);
    return name === "a" ? unreachable() : busy(60_000);
  };
  const fault = 'Cannot acquire lock "a" and others within 1 ms: connection refused';
  await assertRejects(() => acquireAll(store, ["a", "b"], { wait: 1 }), StoreError, fault);
  await assertRejects(() => acquireAll(store, ["b", "c"], { wait: 1 }), LockTimeoutError, '"b"');
  assertEquals(queued, ["a", "b"]);
});

Deno.test("acquireAll() says how the first name failed while another one is not answered", async () => {
  const store = new ScriptedStore(new SystemClock());
  store.connectionError = new Error("no route");
  const alive = setInterval(() => {}, 1_000);
  const messages: string[] = [];
  for (const failing of ["a", "b"]) {
    store.onAttempt = ({ name }) => name === failing ? unreachable() : hanging();
    const error = await assertRejects(() => acquireAll(store, ["a", "b"], { wait: 50 }), StoreError);
    messages.push(error.message);
  }
  clearInterval(alive);
  const what = 'Cannot acquire lock "a" and others within 50 ms';
  assertEquals(messages, [`${what}: connection refused (no route)`, `${what}: the store did not answer (no route)`]);
});

Deno.test("acquireAll() does not wait for a busy name when another one fails for good", async () => {
  for (const [options, fail, words] of [[{}, refused, "NOPERM"], [{ wait: 0 }, unreachable, "refused"]] as const) {
    const store = new ScriptedStore(new SystemClock());
    store.onAttempt = ({ name }) => name === "a" ? busy(60_000) : fail();
    const message = `Cannot acquire lock "b": ${fail === refused ? words : `connection ${words}`}`;
    await assertRejects(() => acquireAll(store, ["a", "b"], options), StoreError, message);
    assertEquals(store.times("attempt").length, 2);
  }
});

Deno.test("acquireAll() rejects only when it has released the names that it holds", async () => {
  const clock = new VirtualClock();
  const store = onClock(new ScriptedStore(clock), clock);
  const released = Promise.withResolvers<boolean>();
  store.onAttempt = ({ name }) => name === "a" ? granted(1n) : refused();
  store.onRelease = ({ name }) => name === "a" ? released.promise : true;
  let result: unknown = "pending";
  acquireAll(store, ["a", "b"]).catch((error: unknown) => result = error);
  while (!store.calls.some(({ operation, claim }) => operation === "release" && claim.name === "a")) await settled();
  await settled();
  assertEquals(result, "pending");
  released.resolve(true);
  while (result === "pending") await settled();
  assertInstanceOf(result, StoreError);
});

Deno.test("acquireAll() whose time is over rejects only when all is released", async () => {
  for (const wait of [20, 40, 60]) {
    const clock = new VirtualClock();
    const right = new MemoryStore(undefined, clock);
    await using b = await acquire(right, "b");
    const trip = () => clock.sleep(30);
    const store = over(right, {
      attempt: async (claim, options) => {
        await trip();
        const attempt = await right.attempt(claim, options);
        await trip();
        return attempt;
      },
      release: async (claim) => {
        await trip();
        return await right.release(claim);
      },
    });
    onClock(store, clock);
    const names = acquireAll(store, ["a", "b", "c"], { wait }).catch((error) => {
      assert(error instanceof LockTimeoutError && error.message.includes('"b"'), `${error}`);
      return right.names;
    });
    await clock.advance(1_000);
    assertEquals(await names, ["b"]);
    assert(b.held);
  }
});

Deno.test("acquireAll() of free names is given the same time by every wait", async () => {
  for (const wait of [0, 1, 10, 30, 500, Infinity]) {
    const right = scene();
    const store = over(right, {
      attempt: async (claim, options) => {
        await new Promise((resolve) => setTimeout(resolve, 40));
        return await right.attempt(claim, options);
      },
    });
    const locks = await acquireAll(store, ["a", "b"], { wait });
    assert(locks.held, `wait: ${wait}`);
    await locks.release();
  }
});

Deno.test("acquireAll() whose time is over waits a second at most for a lost reply", async () => {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  store.onAttempt = ({ name }) => name === "a" ? granted(1n) : busy(HOUR);
  store.onRelease = ({ name }) => name === "a" ? hanging() : true;
  let ended: number | undefined;
  onClock(store, clock);
  acquireAll(store, ["a", "b"], { wait: 50 }).catch(() => ended = clock.now().monotonic);
  const began = clock.now().monotonic;
  await clock.advance(HOUR);
  assertEquals((ended ?? NaN) - began, 1_050);
});

Deno.test("acquireAll() that lost a lock releases the others before it begins again", async () => {
  const right = scene();
  let releasing = 0;
  let most = 0;
  const lost = Promise.withResolvers<void>();
  const store = over(right, {
    observer: ({ type }) => type === "lost" && lost.resolve(),
    attempt: (claim, options) => {
      most = Math.max(most, releasing);
      return right.attempt(claim, options);
    },
    release: async (claim) => {
      releasing++;
      await settled();
      releasing--;
      return await right.release(claim);
    },
  });
  const c = await acquire(right, "c");
  const waiting = acquireAll(store, ["a", "b", "c"], { renew: 10 });
  while ((await right.query()).pending.length === 0) await settled();
  const before = (await right.query()).held.find(({ name }) => name === "b")?.owner;
  await right.evict("a");
  await lost.promise;
  await c.release();
  const locks = await waiting;
  const after = (await right.query()).held.find(({ name }) => name === "b")?.owner;
  assertEquals([locks.names, locks.held, most], [["a", "b", "c"], true, 0]);
  assert(before !== after, "b was given back as well");
  await locks.release();
});

Deno.test("acquireAll() looks at no target when its signal has aborted", async () => {
  const signal = AbortSignal.abort(new Error("enough"));
  await assertRejects(() => acquireAll({} as never, ["a"], { signal }), Error, "enough");
});

Deno.test("acquireAll() whose signal aborts at once sends nothing", async () => {
  const store = new ScriptedStore(new SystemClock());
  const controller = new AbortController();
  const acquiring = acquireAll(store, ["a"], { signal: controller.signal });
  controller.abort(new Error("enough"));
  await assertRejects(() => acquiring, Error, "enough");
  assertEquals(store.calls, []);
});

Deno.test("acquireAll() leaves no listener on its signal", async () => {
  const { signal } = new AbortController();
  const store = new ScriptedStore(new SystemClock());
  await (await acquireAll(store, ["a", "b"], { signal })).release();
  store.onAttempt = refused;
  await assertRejects(() => acquireAll(store, ["a", "b"], { signal }), StoreError);
  assertEquals(getEventListeners(signal, "abort").length, 0);
});

Deno.test("MultiLock has one signal, however often that is read", async () => {
  await using locks = await acquireAll(memory(), ["a", "b"]);
  const { signal } = locks;
  assert(locks.signal === signal, "the same");
});

Deno.test("MultiLock.release() rejects with a loss rather than with a fault", async () => {
  const store = new ScriptedStore(new SystemClock());
  store.onRelease = ({ name }) => name === "a" ? refused() : true;
  await assertRejects(async () => await (await acquireAll(store, ["a", "b"])).release(), StoreError, "NOPERM");
  store.onRelease = ({ name }) => name === "a" ? refused() : false;
  await assertRejects(async () => await (await acquireAll(store, ["a", "b"])).release(), LockLostError, '"b"');
});
