import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { acquire, acquireAll, isLockLost, type Lock, LockLostError, StoreError } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { inspect } from "node:util";
import { RELEASE_LIMIT_MS } from "../../src/contract/release.ts";
import type { Renewal } from "../../src/contract/store.ts";
import { holdLock as scene, HOUR, outcome } from "../support/held_lock.ts";
import { hanging, inTurn, refused, unreachable } from "../support/scripted_store.ts";
import { settled } from "../support/virtual_clock.ts";

Deno.test("Lock shows what is held", async () => {
  const { clock, lock } = await scene({ lease: 900 });
  assertEquals([lock.name, lock.mode, lock.fence, lock.held], ["a", "exclusive", 7n, true]);
  assertEquals([lock.remaining(), lock.signal.aborted], [889, false]);
  assert(/^[\da-f-]{36}$/.test(lock.owner), lock.owner);
  await clock.advance(100);
  assertEquals(lock.remaining(), 789);
  await lock.release();
  assertEquals([lock.held, lock.remaining(), lock.signal.aborted], [false, 0, false]);
});

Deno.test("Lock shows whether it is a semaphore", async () => {
  const store = memory();
  await using printers = await acquire(store, "printers", { permits: 3 });
  await using lock = await acquire(store, "a");
  assertEquals([printers.permits, lock.permits], [3, undefined]);
});

Deno.test("release() releases the lock once, and returns the same promise every time", async () => {
  const { clock, store, lock } = await scene();
  const first = lock.release();
  assertEquals(lock.held, false, "given up from now on");
  assert(first === lock.release(), "the same promise");
  await first;
  assert(first === lock.release(), "the same promise");
  await lock[Symbol.asyncDispose]();
  assertEquals(store.calls.map((call) => [call.operation, call.claim.owner]), [["release", lock.owner]]);
  const { owner } = lock;
  const who = { name: "a", owner, handle: owner, mode: "exclusive", permits: undefined } as const;
  assertEquals(store.events, [{ type: "released", ...who, fence: 7n, held: 0 }]);
  assertEquals(clock.pending, 0);
});

Deno.test("dispose releases once, however often it is called", async () => {
  const { clock, store, lock } = await scene();
  await Promise.all([lock[Symbol.asyncDispose](), lock[Symbol.asyncDispose](), lock.release()]);
  await lock[Symbol.asyncDispose]();
  assertEquals([store.times("release"), store.eventTypes, clock.pending], [[0], ["released"], 0]);
});

Deno.test("release() and dispose of a lost lock reject with the error of the signal", async () => {
  for (const end of ["release", "dispose"] as const) {
    const all = await scene({ lease: 900, renew: false });
    const { clock, store, lock } = all;
    const { signal } = lock;
    await clock.advance(889);
    const error = await outcome(all, end === "release" ? lock.release() : lock[Symbol.asyncDispose]());
    assertInstanceOf(error, LockLostError);
    assertEquals([error, error.code, isLockLost(error)], [signal.reason, "lost", true]);
    assertEquals(store.eventTypes, ["lost"]);
    assertEquals(store.times("release").length, 1, "what may be left of it is given up all the same");
    assertEquals(await outcome(all, lock[Symbol.asyncDispose]()), "resolved", "the caller has heard it");
  }
});

Deno.test("release() of a lock that ended while the process slept rejects at once", async () => {
  const { clock, lock } = await scene({ lease: 900 });
  clock.stall(HOUR);
  const error = await assertRejects(() => lock.release(), LockLostError);
  assertEquals(lock.signal.reason, error);
});

Deno.test("release() returns one promise also to a listener of the loss that it notices", async () => {
  const { clock, store, lock } = await scene({ lease: 900 });
  const { signal } = lock;
  let inside: Promise<void> | undefined;
  signal.addEventListener("abort", () => {
    inside = lock.release();
  });
  clock.stall(HOUR);
  const outside = lock.release();
  assert(inside === outside, "the same promise");
  await assertRejects(() => outside, LockLostError);
  assertEquals(store.times("release").length, 1);
});

Deno.test("release() of a lost lock does not wait for the store", async () => {
  const { clock, store, lock } = await scene({ lease: 900, renew: false });
  store.onRelease = hanging;
  clock.stall(900);
  await assertRejects(() => lock.release(), LockLostError);
});

Deno.test("dispose with strict: false ignores a lost lock, and release() does not", async () => {
  const quiet = await scene({ lease: 900, strict: false });
  quiet.clock.stall(900);
  await quiet.lock[Symbol.asyncDispose]();
  assertEquals([quiet.lock.signal.aborted, quiet.store.eventTypes], [true, ["lost"]]);

  const loud = await scene({ lease: 900, strict: false });
  loud.clock.stall(900);
  await assertRejects(() => loud.lock.release(), LockLostError);
  await loud.lock[Symbol.asyncDispose]();
});

Deno.test("dispose of a lost lock keeps the error of the body beside the loss", async () => {
  const { clock, lock: held } = await scene({ lease: 900 });
  const body = new Error("of the body");
  const run = async () => {
    await using lock = held;
    clock.stall(900);
    throw lock.held ? new Error("held") : body;
  };
  const error = await run().catch((error: unknown) => error);
  assertInstanceOf(error, SuppressedError);
  assertEquals(error.suppressed, body);
  assert(isLockLost(error) && !isLockLost(body), "found");
});

Deno.test("dispose of a lost lock reports the loss although the signal was read", async () => {
  /** What leaves the scope of a lock that is lost, and whose signal aborts, while its body runs. */
  const leaves = async (strict: boolean, body: (signal: AbortSignal) => void) => {
    const { clock, lock: held } = await scene({ lease: 900, renew: false, strict });
    const run = async () => {
      await using lock = held;
      const { signal } = lock;
      await clock.advance(900);
      assert(signal.aborted);
      body(signal);
    };
    return await run().then(() => "nothing", (error: unknown) => error);
  };
  // A request that has finished, say, was the only one to know the signal.
  assertInstanceOf(await leaves(true, () => {}), LockLostError);
  assertEquals(await leaves(false, () => {}), "nothing");
  const stopping = (signal: AbortSignal) => signal.throwIfAborted();
  const both = await leaves(true, stopping);
  assertInstanceOf(both, SuppressedError);
  assert(both.error === both.suppressed && isLockLost(both));
  assertInstanceOf(await leaves(false, stopping), LockLostError);
});

Deno.test("dispose of a lock that is held keeps the result and the error of the body", async () => {
  const body = new Error("of the body");
  const returning = await scene();
  const run = async (held: Lock, fail: boolean) => {
    await using _lock = held;
    await Promise.resolve();
    if (fail) throw body;
    return "result";
  };
  assertEquals(await run(returning.lock, false), "result");
  const throwing = await scene();
  assertEquals(await run(throwing.lock, true).catch((error: unknown) => error), body);
  assertEquals([returning, throwing].map(({ store }) => store.eventTypes), [["released"], ["released"]]);
});

Deno.test("release() is retried while the store fails, within its limit", async () => {
  // That a retry finds nothing is no theft: the call whose reply was lost may have released it.
  for (const found of [true, false]) {
    const all = await scene();
    all.store.onRelease = inTurn(unreachable, unreachable, () => found);
    assertEquals(await outcome(all, all.lock.release(), 1_000), "resolved");
    assertEquals(all.store.eventTypes, ["fault", "fault", "released"]);
    assert(all.store.times("release")[1]! >= 5, "not at once");
  }
});

Deno.test("release() succeeds when the store is back shortly before the limit", async () => {
  const all = await scene();
  all.store.onRelease = () => all.store.times("release").at(-1)! < RELEASE_LIMIT_MS - 1_000 ? unreachable() : true;
  assertEquals(await outcome(all, all.lock.release(), RELEASE_LIMIT_MS), "resolved");
  assertEquals(all.store.eventTypes.at(-1), "released");
});

Deno.test("release() rejects with StoreError when the store stays down, after few calls", async () => {
  const all = await scene();
  all.store.onRelease = unreachable;
  const error = await outcome(all, all.lock.release(), RELEASE_LIMIT_MS);
  assertInstanceOf(error, StoreError);
  assertInstanceOf(error.cause, Error);
  assertEquals([error.code, error.cause.message], ["store", "connection refused"]);
  const times = all.store.times("release");
  const pauses = times.slice(1).map((time, i) => time - times[i]!);
  assert(times.length <= 30 && pauses.every((pause) => pause <= 1_000), `tried at ${times} ms`);
  assert(all.store.eventTypes.every((type) => type === "fault"), "only faults are told");
  assertEquals(all.clock.pending, 0);
  assertEquals(await outcome(all, all.lock[Symbol.asyncDispose]()), "resolved");
});

Deno.test("release() calls a closed store once", async () => {
  const all = await scene();
  all.store.closed = true;
  all.store.onRelease = unreachable;
  assertInstanceOf(await outcome(all, all.lock.release(), 0), StoreError);
  assertEquals(all.store.times("release"), [0]);
});

Deno.test("release() calls a store that refuses for good once", async () => {
  const all = await scene();
  all.store.onRelease = refused;
  const error = await outcome(all, all.lock.release(), 0);
  assertInstanceOf(error, StoreError);
  assertEquals([error.permanent, error.message], [true, 'Cannot release lock "a": NOPERM']);
  assertEquals(all.store.times("release"), [0]);
});

Deno.test("release() that hangs after faults reports them and the connection error", async () => {
  for (const connectionError of [undefined, new Error("connect ECONNREFUSED")]) {
    const all = await scene();
    all.store.connectionError = connectionError;
    all.store.onRelease = inTurn(unreachable, hanging);
    const error = await outcome(all, all.lock.release(), RELEASE_LIMIT_MS);
    assertInstanceOf(error, StoreError);
    assert(error.message.startsWith('Cannot release lock "a" within 5000 ms: connection refused'), error.message);
    assert(error.cause instanceof Error, "a cause");
    assertEquals(error.cause.message, connectionError?.message ?? "connection refused");
  }
});

Deno.test("dispose does not fail a body that ran protected when the store is down", async () => {
  for (const answer of [unreachable, hanging]) {
    const all = await scene();
    all.store.onRelease = answer;
    assertEquals(await outcome(all, all.lock[Symbol.asyncDispose](), RELEASE_LIMIT_MS), "resolved");
  }
});

Deno.test("release() that hangs ends after its limit, on a lease however long", async () => {
  const all = await scene({ lease: HOUR });
  all.store.onRelease = hanging;
  const releasing = all.lock.release();
  assertEquals(await outcome(all, releasing, RELEASE_LIMIT_MS - 1), "pending");
  const error = await outcome(all, releasing, 1);
  assertInstanceOf(error, StoreError);
  assertEquals([error.code, all.clock.pending, all.lock.held], ["store", 0, false]);
});

Deno.test("release() waits for the renewal in flight", async () => {
  for (const answer of ["renewed", "lost"] as const) {
    const all = await scene({ lease: 900 });
    const renewal = Promise.withResolvers<Renewal>();
    all.store.onRenew = () => renewal.promise;
    all.store.onRelease = () => answer === "renewed";
    await all.clock.advance(300);
    const releasing = all.lock.release();
    await all.clock.advance(100);
    assertEquals([all.lock.held, all.store.times("release")], [false, []]);
    renewal.resolve(answer);
    const ended = await outcome(all, releasing, 0);
    assertEquals(all.store.times("release"), [400]);
    if (answer === "renewed") assertEquals(ended, "resolved");
    else assertInstanceOf(ended, LockLostError);
    await all.clock.advance(HOUR);
    assertEquals(all.store.times("renew"), [300], "no renewal after it");
  }
});

Deno.test("release() behind a renewal that hangs ends after its limit, and is sent later", async () => {
  const all = await scene({ lease: HOUR, renew: 100 });
  const renewal = Promise.withResolvers<Renewal>();
  all.store.onRenew = () => renewal.promise;
  await all.clock.advance(100);
  assertInstanceOf(await outcome(all, all.lock.release(), RELEASE_LIMIT_MS), StoreError);
  assertEquals(all.store.times("release"), []);
  renewal.resolve("renewed");
  await settled();
  assertEquals(all.store.times("release").length, 1);
});

Deno.test("release() of a lock that the store forgot rejects before the deadline only", async () => {
  const stolen = await scene({ lease: 900 });
  stolen.store.onRelease = () => false;
  const error = await outcome(stolen, stolen.lock.release(), 0);
  assertInstanceOf(error, LockLostError);
  assertEquals([stolen.lock.signal.reason, stolen.store.eventTypes], [error, ["lost"]]);

  // The lease ended while the release was on its way: the section was protected to its end.
  const slow = await scene({ lease: 900 });
  slow.store.onRelease = async () => {
    await slow.clock.sleep(2_000);
    return false;
  };
  assertEquals(await outcome(slow, slow.lock.release()), "resolved");
  assertEquals(slow.store.eventTypes, ["released"]);
});

Deno.test("release() leaves no timer, and the observer is notified of one end", async () => {
  for (const answer of [() => true, () => false, unreachable, hanging]) {
    const all = await scene({ lease: 900 });
    all.store.onRelease = answer;
    await outcome(all, all.lock.release());
    assertEquals(all.clock.pending, 0);
    assert(all.store.eventTypes.filter((type) => type !== "fault").length <= 1, all.store.eventTypes.join());
  }
});

Deno.test("Lock is neither held, renewed nor extended after release()", async () => {
  const all = await scene({ lease: 900 });
  await all.lock.release();
  await assertRejects(() => all.lock.extend(), LockLostError);
  await all.clock.advance(HOUR);
  assertEquals([all.store.times("renew"), all.lock.held, all.lock.signal.aborted], [[], false, false]);
});

Deno.test("Lock.extend() rejects bad leases, and sends good ones", async () => {
  const { store, lock } = await scene({ lease: 900, renew: 300 });
  for (const lease of [NaN, 9, 300, 2 ** 31]) {
    assertInstanceOf(await lock.extend(lease).catch((error: unknown) => error), RangeError);
  }
  assertEquals(store.calls, []);
  await lock.extend(1_800);
  assertEquals([store.calls[0]?.claim.lease, lock.remaining()], [1_800, 1_780]);
  await lock.release();
});

Deno.test("Lock ignores an observer that throws", async () => {
  const broken = () => {
    throw new Error("observer");
  };
  const all = await scene({ lease: 900 });
  all.store.observer = broken;
  await all.clock.advance(900);
  assertEquals([all.lock.held, all.lock.remaining()], [true, 889]);
  await all.lock.release();

  const lost = await scene({ lease: 900 });
  lost.store.observer = broken;
  lost.store.onRenew = inTurn(unreachable, () => "lost");
  const { signal } = lost.lock;
  await lost.clock.advance(400);
  assertEquals([lost.lock.held, signal.aborted], [false, true]);
  await assertRejects(() => lost.lock.release(), LockLostError);
});

Deno.test("Lock shows what it is", async () => {
  const { lock } = await scene({ lease: 900 });
  // The tests of other runtimes find a Deno that can only define tests.
  const { inspect: show }: Partial<typeof Deno> = globalThis.Deno ?? {};
  const shown = [inspect(lock), ...(show === undefined ? [] : [show(lock)])];
  for (const text of shown) {
    assert(
      /^Lock \{ name: ['"]a['"], mode: ['"]exclusive['"], fence: 7n, held: true, remaining: 889 \}$/.test(text),
      text,
    );
  }
  assertEquals(
    JSON.stringify({ lock }),
    '{"lock":{"name":"a","mode":"exclusive","fence":"7","held":true,"remaining":889}}',
  );
  await lock.release();
  assert(inspect({ lock }).includes("held: false"), inspect({ lock }));
  const locks = await acquireAll(memory(), ["a", "b"]);
  assert(inspect(locks).startsWith("MultiLock {"), inspect(locks));
  const { names, fences, held } = JSON.parse(JSON.stringify(locks));
  assertEquals([names, fences, held], [
    ["a", "b"],
    { a: String(locks.fences.get("a")), b: String(locks.fences.get("b")) },
    true,
  ]);
  await locks.release();
});
