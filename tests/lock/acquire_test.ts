import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import {
  acquire,
  acquireAll,
  type AcquireOptions,
  type Attempt,
  type Lock,
  LockError,
  LockTimeoutError,
  StoreError,
  tryAcquire,
} from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { getEventListeners } from "node:events";
import { acquireFrom } from "../../src/lock/acquisition.ts";
import { clockOf } from "../../src/lock/lease/held_leases.ts";
import { checkAcquireOptions } from "../../src/lock/options.ts";
import { RedisServer } from "../support/redis_server.ts";
import { busy, granted, hanging, inTurn, refused, ScriptedStore, unreachable } from "../support/scripted_store.ts";
import { settled, VirtualClock } from "../support/virtual_clock.ts";

const HOUR = 3_600_000;

/** What claims and events say of a handle with default options. */
const PLAIN = { name: "a", mode: "exclusive", permits: undefined } as const;

/** How long faults of the store are borne while waiting, in milliseconds. */
const FAULT_TOLERANCE = 10_000;

type Answer = () => Attempt | Promise<Attempt>;

interface Scene {
  readonly clock: VirtualClock;
  readonly store: ScriptedStore;
  readonly acquiring: Promise<Lock | null>;
  /** What `acquiring` came to so far: the lock, the error, or `"pending"`. */
  readonly result: () => unknown;
}

/** An acquire that has just begun, on a store with these answers to its attempts. */
function scene(options: AcquireOptions, ...answers: Answer[]): Scene {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  store.onAttempt = inTurn(...answers);
  const acquiring = acquireFrom(store, "a", checkAcquireOptions(options), clock);
  let result: unknown = "pending";
  acquiring.then((lock) => result = lock, (error: unknown) => result = error);
  return { clock, store, acquiring, result: () => result };
}

async function heldBy({ acquiring }: Scene): Promise<Lock> {
  const lock = await acquiring;
  assert(lock !== null, "granted");
  return lock;
}

/** Whether nothing is left: the last word to the store was to give up the claim, and no timer goes on. */
function assertGivenUp({ clock, store }: Scene): void {
  const last = store.calls.at(-1);
  assertEquals([last?.operation, clock.pending], ["release", 0]);
  assertEquals(new Set(store.calls.map((call) => call.claim.owner)).size, 1);
}

Deno.test("acquire() of a free lock with default options is one attempt and one timer", async () => {
  const all = scene({}, () => granted(5n));
  const lock = await heldBy(all);
  assertEquals(all.store.calls.map((call) => [call.operation, call.claim]), [
    ["attempt", {
      ...PLAIN,
      owner: lock.owner,
      handle: undefined,
      lease: 30_000,
      meta: checkAcquireOptions().meta,
    }],
  ]);
  assertEquals([lock.fence, all.clock.pending], [5n, 1]);
  const { owner } = lock;
  assertEquals(all.store.events, [{ type: "acquired", ...PLAIN, owner, handle: owner, fence: 5n, waited: 0 }]);
  await lock.release();
  assertEquals(all.clock.pending, 0);
});

Deno.test("acquire() counts the age of a grant, and tries again if that is the whole lease", async () => {
  const aged = (age: number) => (): Attempt => ({ granted: true, fence: 3n, age });
  const young = scene({ lease: 1_000, renew: false }, aged(300));
  const lock = await heldBy(young);
  assertEquals(lock.remaining(), 688);
  await lock.release();

  const old = scene({ lease: 1_000, renew: false, wait: HOUR }, aged(988), aged(987));
  await old.clock.advance(20);
  assertEquals((await heldBy(old)).remaining(), 1);
  assertEquals([old.store.times("attempt"), old.store.eventTypes.slice(0, 1)], [[0, 20], ["fault"]]);
});

Deno.test("acquire() takes a new owner each time", async () => {
  const store = new ScriptedStore(new VirtualClock());
  const owners = new Set<string>();
  for (let i = 0; i < 10; i++) {
    await using lock = await acquire(store, "a");
    owners.add(lock.owner);
  }
  assertEquals(owners.size, 10);
});

Deno.test("acquire() with wait: 0 and tryAcquire() make one attempt, and do not queue", async () => {
  const store = new ScriptedStore(new VirtualClock());
  const enqueued: boolean[] = [];
  store.onAttempt = (_, { enqueue }) => {
    enqueued.push(enqueue);
    return busy(10);
  };
  const error = await assertRejects(() => acquire(store, "a", { wait: 0 }), LockTimeoutError);
  assertEquals(error.code, "timeout");
  assertEquals(await tryAcquire(store, "a"), null);
  assertEquals([enqueued, store.times("release"), store.eventTypes], [[false, false], [], ["gave_up", "gave_up"]]);
  store.events.length = 0;

  store.onAttempt = () => granted(1n);
  for (const taken of [acquire(store, "a", { wait: 0 }), tryAcquire(store, "a")]) await (await taken)?.release();
  assertEquals(store.eventTypes, ["acquired", "acquired", "released", "released"]);
});

Deno.test("acquire() queues, and attempts again when the store says so", async () => {
  const enqueued: boolean[] = [];
  const all = scene({}, () => busy(40), () => busy(200), () => granted(2n));
  const answer = all.store.onAttempt;
  all.store.onAttempt = (claim, options) => {
    enqueued.push(options.enqueue);
    return answer(claim, options);
  };
  await all.clock.advance(500);
  const lock = await heldBy(all);
  assertEquals([all.store.times("attempt"), enqueued], [[0, 40, 240], [true, true]]);
  assertEquals(all.store.events.map(({ type, owner }) => [type, owner]), [
    ["waiting", lock.owner],
    ["acquired", lock.owner],
  ]);
  const { owner } = lock;
  assertEquals(all.store.events.at(-1), { type: "acquired", ...PLAIN, owner, handle: owner, fence: 2n, waited: 240 });
  assertEquals(Math.round(lock.remaining()), 30_000 - 302 - 260, "counted from the attempt that was granted");
  await lock.release();
  assertEquals(all.clock.pending, 0);
});

Deno.test("acquire() attempts again when it is woken, and ends its wake-up", async () => {
  const signals: AbortSignal[] = [];
  const wake = Promise.withResolvers<void>();
  const all = scene({}, () => busy(HOUR), () => granted(1n));
  all.store.wakeup = (_, signal) => {
    signals.push(signal);
    return wake.promise;
  };
  await all.clock.advance(100);
  assertEquals([all.result(), all.store.times("attempt")], ["pending", [0]]);
  wake.resolve();
  await heldBy(all);
  assertEquals(all.store.times("attempt"), [0, 100]);
  assertEquals([signals.length, signals[0]?.aborted, all.clock.pending], [1, true, 1]);
});

Deno.test("acquire() polls a store whose wake-ups fail or never come", async () => {
  const thrown = () => {
    throw new Error("at once");
  };
  for (const wakeup of [unreachable, hanging, thrown]) {
    const all = scene({}, () => busy(40), () => busy(40), () => granted(1n));
    all.store.wakeup = wakeup;
    await all.clock.advance(100);
    await heldBy(all);
    assertEquals(all.store.times("attempt"), [0, 40, 80]);
    assert(!all.store.eventTypes.includes("fault"), "no call has failed");
  }
});

Deno.test("acquire() rejects with LockTimeoutError after its time, and leaves the queue", async () => {
  const all = scene({ wait: 500 }, () => busy(200));
  await all.clock.advance(499);
  assertEquals(all.result(), "pending");
  await all.clock.advance(1);
  const error = all.result();
  assertInstanceOf(error, LockTimeoutError);
  assertEquals([error.code, all.store.times("attempt"), all.store.times("release")], ["timeout", [0, 200, 400], [500]]);
  assertGivenUp(all);
  assertEquals(all.store.eventTypes, ["waiting", "gave_up"]);
});

Deno.test("acquire() rejects with the reason of its signal, and leaves the queue", async () => {
  for (const reason of [new Error("enough"), "enough", null]) {
    const controller = new AbortController();
    const all = scene({ signal: controller.signal }, () => busy(HOUR));
    await all.clock.advance(100);
    controller.abort(reason);
    await settled();
    assertEquals(all.result(), reason);
    assertEquals(getEventListeners(controller.signal, "abort").length, 0);
    assertGivenUp(all);
  }
});

Deno.test("acquire() settles at its time or its signal while the store hangs", async () => {
  const controller = new AbortController();
  const timed = scene({ wait: 500 }, () => busy(100), hanging);
  const aborted = scene({ signal: controller.signal }, hanging);
  await timed.clock.advance(500 + 1_000);
  assertInstanceOf(timed.result(), LockTimeoutError, "a second more, for the release");
  await aborted.clock.advance(500);
  controller.abort("enough");
  await settled();
  assertEquals(aborted.result(), "enough");
  assertEquals([timed.clock.pending, aborted.clock.pending], [0, 0]);
});

Deno.test("acquire() gives a first attempt the same time whatever wait is", async () => {
  for (const wait of [0, 1, 10, 30, 9_999, 20_000, Infinity]) {
    for (const ms of [1, 40, 9_999, 10_001]) {
      const clock = new VirtualClock();
      const store = new ScriptedStore(clock);
      store.onAttempt = () => clock.sleep(ms).then(() => granted(1n));
      const acquiring = acquireFrom(store, "a", checkAcquireOptions({ wait, lease: HOUR }), clock).then(
        (lock) => lock?.release().then(() => "granted"),
        (error: unknown) => error instanceof StoreError ? error.code : error,
      );
      await clock.advance(ms);
      assertEquals(await acquiring, ms < 10_000 ? "granted" : "store", `wait: ${wait}, ${ms} ms`);
      assertEquals(clock.pending, 0);
    }
  }
});

Deno.test("acquire() whose first attempt is answered late rejects as it was answered", async () => {
  for (const [answer, code] of [[() => busy(10), "timeout"], [unreachable, "store"], [refused, "store"]] as const) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const all = scene({ wait: 10 }, () => promise.then(answer), () => granted(1n));
    await all.clock.advance(200);
    assertEquals(all.result(), "pending");
    resolve();
    await settled();
    const error = all.result();
    assertInstanceOf(error, LockError);
    assertEquals([error.code, all.store.times("attempt")], [code, [0]]);
    assertGivenUp(all);
    assertEquals(all.store.eventTypes.at(-1), "gave_up");
    assert(!all.store.eventTypes.includes("waiting"), "it has not begun to wait");
  }
});

Deno.test("acquire() whose first attempt hangs ends with its signal, also after its time", async () => {
  const controller = new AbortController();
  const all = scene({ wait: 10, signal: controller.signal }, hanging);
  await all.clock.advance(500);
  assertEquals(all.result(), "pending");
  controller.abort("enough");
  await settled();
  assertEquals([all.result(), all.clock.pending], ["enough", 0]);
});

Deno.test("acquire() whose first attempt is never answered rejects after 10 s", async () => {
  const all = scene({ wait: 10 }, hanging);
  await all.clock.advance(10_000);
  const error = all.result();
  assertInstanceOf(error, StoreError);
  assertEquals(error.message, 'Cannot acquire lock "a": the store did not answer within 10000 ms');
  assertEquals([all.store.eventTypes, all.clock.pending], [["fault", "gave_up"], 0]);
});

Deno.test("acquire() refuses a grant of a first attempt that its machine slept through", async () => {
  const { promise, resolve } = Promise.withResolvers<Attempt>();
  const all = scene({ wait: 10, lease: 30_000 }, () => promise, () => granted(2n));
  await settled();
  all.clock.setWall(60_000);
  await all.clock.advance(10);
  resolve(granted(1n));
  await settled();
  assertInstanceOf(all.result(), StoreError);
  assertGivenUp(all);
});

Deno.test("acquire() whose time is over rejects after the release, or a second later", async () => {
  for (const answer of [() => true, hanging]) {
    const { promise, resolve } = Promise.withResolvers<Attempt>();
    const all = scene({ wait: 100 }, () => busy(50), () => promise);
    all.store.onRelease = answer;
    await all.clock.advance(200);
    assertEquals([all.result(), all.store.times("release")], ["pending", []], "it would overtake the attempt");
    resolve(granted(1n));
    await settled();
    if (answer === hanging) {
      assertEquals([all.result(), all.store.times("release")], ["pending", [200]]);
      await all.clock.advance(900);
    }
    assertInstanceOf(all.result(), LockTimeoutError);
    assertGivenUp(all);
  }
});

Deno.test("acquire() ignores its signal after the grant", async () => {
  const controller = new AbortController();
  const all = scene({ signal: controller.signal, wait: 500 }, () => granted(1n));
  const lock = await heldBy(all);
  assertEquals([getEventListeners(controller.signal, "abort").length, all.clock.pending], [0, 1]);
  controller.abort();
  await all.clock.advance(1_000);
  assertEquals([lock.held, lock.signal.aborted], [true, false]);
});

Deno.test("acquire() releases what an abandoned attempt is granted later", async () => {
  for (const answer of ["granted", "busy", "fault"]) {
    const { promise, resolve, reject } = Promise.withResolvers<Attempt>();
    const controller = new AbortController();
    const all = scene({ signal: controller.signal }, () => promise);
    await settled();
    controller.abort("enough");
    await settled();
    assertEquals([all.result(), all.store.times("release")], ["enough", []], "it would overtake the attempt");
    if (answer === "fault") reject(new Error("connection lost"));
    else resolve(answer === "granted" ? granted(1n) : busy(10));
    await settled();
    assertEquals(all.store.eventTypes, ["gave_up"], "nobody has held it");
    assertGivenUp(all);
  }
});

Deno.test("acquire() retries the release when the store fails", async () => {
  const controller = new AbortController();
  const all = scene({ signal: controller.signal }, () => busy(HOUR));
  all.store.onRelease = inTurn(unreachable, unreachable, () => true);
  await settled();
  controller.abort("enough");
  await all.clock.advance(1_000);
  assertEquals([all.result(), all.store.times("release").length], ["enough", 3]);
  assertGivenUp(all);
});

Deno.test("acquire() with wait: 0 rejects with StoreError after a fault and a release", async () => {
  const all = scene({ wait: 0 }, unreachable);
  const released = Promise.withResolvers<boolean>();
  all.store.onRelease = () => released.promise;
  await all.clock.advance(100);
  assertEquals([all.result(), all.store.calls.map((call) => call.operation)], ["pending", ["attempt", "release"]]);
  released.resolve(false);
  await settled();
  const error = all.result();
  assertInstanceOf(error, StoreError);
  assertInstanceOf(error.cause, Error);
  assertEquals([error.code, error.cause.message], ["store", "connection refused"]);
  assertGivenUp(all);
  assertEquals(all.store.eventTypes, ["fault", "gave_up"]);
});

Deno.test("acquire() rejects soon when the release fails or hangs as well", async () => {
  for (const answer of [unreachable, hanging]) {
    const all = scene({ wait: 0 }, unreachable);
    all.store.onRelease = answer;
    await all.clock.advance(1_000);
    assertInstanceOf(all.result(), StoreError);
    await all.clock.advance(HOUR);
    assertGivenUp(all);
  }
});

Deno.test("acquire() and tryAcquire() end with their signal while they release", async () => {
  for (const wait of [50, Infinity, 0]) {
    const enough = new AbortController();
    const all = scene({ wait, signal: enough.signal }, refused);
    all.store.onRelease = hanging;
    await all.clock.advance(50);
    assertEquals(all.result(), "pending");
    enough.abort("enough");
    await settled();
    assertInstanceOf(all.result(), StoreError);
  }
});

Deno.test("tryAcquire() rejects with StoreError when the store fails", async () => {
  const store = new ScriptedStore(new VirtualClock());
  store.onAttempt = unreachable;
  const error = await assertRejects(() => tryAcquire(store, "a"), StoreError);
  assertEquals([error.code, store.calls.map((call) => call.operation)], ["store", ["attempt", "release"]]);
});

Deno.test("acquire() retries faults from its first attempt on, with a back-off", async () => {
  for (const before of [[], [() => busy(100)]]) {
    const all = scene({ wait: 5_000 }, ...before, ...Array(4).fill(unreachable), () => granted(1n));
    await all.clock.advance(4_000);
    const lock = await heldBy(all);
    const times = all.store.times("attempt").slice(before.length);
    const pauses = times.slice(1).map((time, i) => time - times[i]!);
    assert(pauses.every((pause) => pause >= 10 && pause <= 1_000), pauses.join());
    assertEquals(all.store.eventTypes.toSorted(), ["acquired", "fault", "fault", "fault", "fault", "waiting"]);
    assertEquals([lock.held, all.store.times("release")], [true, []]);
    assertEquals(new Set(all.store.calls.map((call) => call.claim.owner)).size, 1);
  }
});

Deno.test("acquire() rejects with StoreError after 10 s of nothing but faults", async () => {
  for (const before of [[], [() => busy(100)]]) {
    const all = scene({}, ...before, unreachable);
    await all.clock.advance(100 * before.length + FAULT_TOLERANCE - 1);
    assertEquals(all.result(), "pending");
    await all.clock.advance(1_000);
    assertInstanceOf(all.result(), StoreError);
    const calls = all.store.times("attempt").length;
    assert(calls >= 10 && calls <= 50, `${calls} attempts`);
    assertGivenUp(all);
  }
});

Deno.test("acquire() rejects at once after a permanent fault", async () => {
  const permanent = [refused, () => Promise.reject(new TypeError("bad")), () => Promise.reject(new RangeError("bad"))];
  for (const fail of permanent) {
    for (const before of [[], [() => busy(100)], [unreachable]]) {
      const all = scene({ wait: 5_000 }, ...before, fail);
      await all.clock.advance(100);
      const error = all.result();
      if (fail === refused) assert(error instanceof StoreError && error.permanent, `${error}`);
      else assert(error instanceof TypeError || error instanceof RangeError, `a bad argument is that: ${error}`);
      assertEquals(all.store.times("attempt").length, before.length + 1);
      assertGivenUp(all);
    }
  }
});

Deno.test("acquire() whose store failed until its time is over reports the fault", async () => {
  const all = scene({ wait: 500 }, unreachable);
  await all.clock.advance(500);
  const error = all.result();
  assertInstanceOf(error, StoreError);
  assertEquals(error.message, 'Cannot acquire lock "a" within 500 ms: connection refused');
  assert(error.cause instanceof Error && error.cause.message === "connection refused", `${error.cause}`);
  assertGivenUp(all);
});

Deno.test("acquire() and tryAcquire() say why the store cannot be reached", async () => {
  const connectionError = new Error("connect ECONNREFUSED 127.0.0.1:6379");
  const cases = [
    [{ wait: 5_000 }, hanging, 5_000],
    [{ wait: 5_000 }, unreachable, 5_000],
    [{}, hanging, 10_000],
    [{ wait: 0 }, unreachable, 0],
    [{ wait: 0 }, hanging, 10_000],
  ] as const;
  const messages: string[] = [];
  for (const [options, answer, ms] of cases) {
    const all = scene(options, answer);
    all.store.connectionError = connectionError;
    await all.clock.advance(ms);
    const error = all.result();
    assertInstanceOf(error, StoreError);
    assertEquals(error.cause, connectionError);
    messages.push(error.message);
  }
  assertEquals(messages, [
    'Cannot acquire lock "a" within 5000 ms: the store did not answer (connect ECONNREFUSED 127.0.0.1:6379)',
    'Cannot acquire lock "a" within 5000 ms: connection refused (connect ECONNREFUSED 127.0.0.1:6379)',
    'Cannot acquire lock "a": the store did not answer within 10000 ms (connect ECONNREFUSED 127.0.0.1:6379)',
    'Cannot acquire lock "a": connection refused (connect ECONNREFUSED 127.0.0.1:6379)',
    'Cannot acquire lock "a": the store did not answer within 10000 ms (connect ECONNREFUSED 127.0.0.1:6379)',
  ]);
});

Deno.test("acquire() that found the lock held says so, and what has failed since", async () => {
  const all = scene({ wait: 500 }, () => busy(10), unreachable);
  await all.clock.advance(500);
  const error = all.result();
  assertInstanceOf(error, LockTimeoutError);
  assert(error.message.includes("held by another owner when the store last answered"), error.message);
  assert(error.message.endsWith("connection refused"), error.message);
  assert(error.cause instanceof Error && error.cause.message === "connection refused", `${error.cause}`);
});

Deno.test("acquire() and tryAcquire() abandon an attempt after 10 s, and release its lock", async () => {
  for (const options of [{}, { wait: HOUR }, { wait: 0 }, { lease: 900 }, { lease: HOUR }]) {
    const { promise, resolve } = Promise.withResolvers<Attempt>();
    const all = scene(options, () => promise);
    await all.clock.advance(9_999);
    assertEquals(all.result(), "pending");
    await all.clock.advance(1);
    assertInstanceOf(all.result(), StoreError);
    assertEquals(all.store.eventTypes, ["fault", "gave_up"]);
    assertEquals([all.store.times("release"), all.clock.pending], [[], 0]);
    resolve(granted(1n));
    await settled();
    assertGivenUp(all);
  }
});

Deno.test("acquire() does not count an answer as late that its process could not read", async () => {
  const { promise, resolve } = Promise.withResolvers<Attempt>();
  const all = scene({ lease: HOUR }, () => promise);
  await settled();
  all.clock.stall(12_000);
  await all.clock.advance(0);
  assertEquals(all.result(), "pending", "a timer that ran late proves nothing");
  resolve(granted(1n));
  await (await heldBy(all)).release();
  assertEquals(all.clock.pending, 0);

  const hung = scene({ lease: HOUR }, hanging);
  await settled();
  hung.clock.stall(12_000);
  await hung.clock.advance(1_000);
  assertInstanceOf(hung.result(), StoreError, "another second does");
});

Deno.test("acquire() says when it is its own process that holds the lock, and how to nest", async () => {
  const store = memory();
  await using _lock = await acquire(store, "a");
  const alive = setInterval(() => {}, 1_000);
  for (const wait of [0, 20]) {
    const error = await assertRejects(() => acquire(store, "a", { wait }), LockTimeoutError, "held by this process");
    assert(error.message.includes("owner"), error.message);
  }
  await (await acquire(store, "b")).release();
  clearInterval(alive);
  const other = scene({ wait: 20 }, () => busy(10));
  await other.clock.advance(20);
  assert(String(other.result()).endsWith("held by another owner"), String(other.result()));
});

Deno.test("acquire() says that another owner holds the lock that its process lost", async () => {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  const acquireNow = (options: AcquireOptions) => acquireFrom(store, "a", checkAcquireOptions(options), clock);
  const released = await acquireNow({});
  await released?.release();
  await acquireNow({ lease: 900, renew: false });
  clock.stall(900);
  store.onAttempt = () => busy(10);
  const waiting = acquireNow({ wait: 20 }).catch((error: unknown) => error);
  await clock.advance(20);
  assert(String(await waiting).endsWith("held by another owner"), String(await waiting));
});

Deno.test("acquire functions reject with a stack that shows their caller", async () => {
  const alive = setInterval(() => {}, 1_000);
  const store = memory();
  await using lock = await acquire(store, "a");
  const down = new ScriptedStore(new VirtualClock());
  down.onAttempt = unreachable;
  const hung = new ScriptedStore(new VirtualClock());
  hung.onAttempt = hanging;
  const broken = new ScriptedStore(new VirtualClock());
  broken.onRelease = refused;
  const kept = await acquire(broken, "a");
  async function theCaller(run: () => Promise<unknown>) {
    return await run();
  }
  const calls: (() => Promise<unknown>)[] = [
    async () => await acquire(store, "a", { wait: 20 }),
    async () => await acquire(store, "a", { wait: 0 }),
    async () => await acquireAll(store, ["a", "b"], { wait: 20 }),
    async () => await acquire(down, "a", { wait: 50 }),
    async () => await acquire(hung, "a", { wait: 20 }),
    async () => await tryAcquire(down, "a"),
    async () => await kept.release(),
  ];
  for (const [i, call] of calls.entries()) {
    const error = await theCaller(call).catch((error: unknown) => error);
    assert(error instanceof LockError, `${error}`);
    // JavaScriptCore keeps no frames of callers that await.
    if ("Bun" in globalThis) continue;
    assert(error.stack?.includes("theCaller"), `call ${i}: ${error.stack}`);
  }
  clearInterval(alive);
  assert(lock.held);
});

Deno.test("acquire() begins to count its 10 s anew with every answer", async () => {
  let answer: Answer = () => busy(100);
  const all = scene({}, () => answer());
  for (let i = 0; i < 4; i++) {
    await settled();
    answer = unreachable;
    await all.clock.advance(0.9 * FAULT_TOLERANCE);
    assertEquals(all.result(), "pending");
    // One answer within the longest pause between two attempts.
    answer = () => busy(800);
    await all.clock.advance(600);
  }
  answer = () => granted(1n);
  await all.clock.advance(1_000);
  await heldBy(all);
  assert(all.store.eventTypes.filter((type) => type === "fault").length > 40, "there were faults all the time");
});

Deno.test("acquire() ends within its time and with its signal while the store fails", async () => {
  const controller = new AbortController();
  const timed = scene({ wait: 500 }, () => busy(10), unreachable);
  const aborted = scene({ signal: controller.signal }, unreachable);
  await timed.clock.advance(500);
  assertInstanceOf(timed.result(), LockTimeoutError);
  await aborted.clock.advance(500);
  controller.abort("enough");
  await settled();
  assertEquals(aborted.result(), "enough");
});

Deno.test("acquire() makes no attempt on a store that was closed", async () => {
  const all = scene({}, () => busy(100), unreachable);
  all.store.closed = true;
  await all.clock.advance(HOUR);
  assertInstanceOf(all.result(), StoreError);
  assertEquals(all.store.times("attempt"), [0, 100]);
});

Deno.test("acquire() with wait: 0 counts a grant after the end of its lease as a fault", async () => {
  const { promise, resolve } = Promise.withResolvers<Attempt>();
  const all = scene({ lease: 900, wait: 0 }, () => promise);
  await all.clock.advance(889);
  assertEquals(all.result(), "pending");
  resolve(granted(1n));
  await settled();
  const error = all.result();
  assertInstanceOf(error, StoreError);
  assertEquals(error.message, 'Cannot acquire lock "a": the answer took longer than the lease of 900 ms');
  assertEquals(all.store.eventTypes, ["fault", "gave_up"]);
  assertGivenUp(all);
});

Deno.test("acquire() rejects only after the release of a late grant or a conflict", async () => {
  const late = Promise.withResolvers<Attempt>();
  const conflict: Answer = () => ({ granted: false, retryAfter: 1, conflict: { present: "shared", own: false } });
  for (const [options, answer] of [[{ lease: 900, wait: 0 }, () => late.promise], [{}, conflict]] as const) {
    const released = Promise.withResolvers<boolean>();
    const all = scene(options, answer);
    all.store.onRelease = () => released.promise;
    await all.clock.advance(889);
    late.resolve(granted(1n));
    await settled();
    assertEquals([all.result(), all.store.times("release").length], ["pending", 1]);
    released.resolve(true);
    await settled();
    assertInstanceOf(all.result(), LockError);
    assertGivenUp(all);
  }
});

Deno.test("acquire() that waits attempts again after a late grant, as the same owner", async () => {
  for (const before of [[], [() => busy(100)]]) {
    const { promise, resolve } = Promise.withResolvers<Attempt>();
    const all = scene({ lease: 900 }, ...before, () => promise, () => granted(2n));
    await all.clock.advance(1_000);
    assertEquals(all.result(), "pending");
    resolve(granted(1n));
    await all.clock.advance(100);
    const lock = await heldBy(all);
    assertEquals([lock.fence, all.store.eventTypes.toSorted()], [2n, ["acquired", "fault", "waiting"]]);
    assertEquals(new Set(all.store.calls.map((call) => call.claim.owner)).size, 1);
    assertEquals(all.store.times("release"), []);
  }
});

Deno.test("acquire() reports the message and cause of a store that refused", async () => {
  const cause = new Error("NOPERM");
  const all = scene({}, () => Promise.reject(new StoreError("NOPERM", { cause, permanent: true })));
  all.store.onRelease = unreachable;
  await all.clock.advance(HOUR);
  const error = all.result();
  assertInstanceOf(error, StoreError);
  assertEquals([error.cause, error.message.includes("NOPERM")], [cause, true]);
  assertEquals(all.store.times("release"), [0], "nothing was done: there is nothing to insist on");
});

Deno.test("acquire() retries the release of an earlier attempt after a refusal", async () => {
  const refused = () => Promise.reject(new StoreError("LOADING"));
  const { promise, resolve } = Promise.withResolvers<Attempt>();
  // Aborted while an attempt is out that is granted later, and in the pause after the refusal, with a place in the
  // queue.
  for (const last of [() => promise, refused]) {
    const controller = new AbortController();
    const all = scene({ signal: controller.signal }, () => busy(10), refused, last);
    all.store.onRelease = inTurn(unreachable, () => true);
    await all.clock.advance(500);
    controller.abort("enough");
    resolve(granted(1n));
    await all.clock.advance(1_000);
    assertEquals([all.result(), all.store.times("release").length], ["enough", 2]);
    assertGivenUp(all);
  }
});

Deno.test("acquire() counts the lease from before the attempt was sent", async () => {
  const { promise, resolve } = Promise.withResolvers<Attempt>();
  const all = scene({ lease: 900 }, () => promise);
  await all.clock.advance(400);
  resolve(granted(1n));
  const lock = await heldBy(all);
  assertEquals(lock.remaining(), 489);
  await settled();
  assertEquals(all.store.times("renew"), [], "due since 300 ms");
  await all.clock.advance(1);
  assertEquals(all.store.times("renew").length, 1);
});

Deno.test("acquire() counts the lease from before a store that takes long to send", async () => {
  for (const attempts of [1, 2]) {
    const clock = new VirtualClock();
    const store = new ScriptedStore(clock);
    let left = attempts;
    store.onAttempt = () => {
      if (--left > 0) return busy(5_000);
      clock.stall(400);
      return granted(1n);
    };
    const acquiring = acquireFrom(store, "a", checkAcquireOptions({ lease: 900, renew: false, wait: HOUR }), clock);
    await clock.advance((attempts - 1) * 5_000);
    const lock = await acquiring;
    assertEquals(lock?.remaining(), 489);
    await lock?.release();
  }
});

Deno.test("acquire() ignores an observer that throws", async () => {
  const all = scene({ wait: 900 }, () => busy(100), unreachable, () => granted(1n));
  all.store.observer = () => {
    throw new Error("observer");
  };
  await all.clock.advance(200);
  await (await heldBy(all)).release();
  const late = scene({ wait: 900 }, () => busy(100));
  late.store.observer = all.store.observer;
  await late.clock.advance(900);
  assertInstanceOf(late.result(), LockTimeoutError);
});

Deno.test("acquire() that is aborted while its store is made sends nothing", async () => {
  await using server = await RedisServer.start();
  const client = server.connect({ lazyConnect: true });
  const controller = new AbortController();
  const acquiring = acquire(client, "a", { signal: controller.signal });
  controller.abort("enough");
  assertEquals(await acquiring.then((lock) => lock.release(), (error: unknown) => error), "enough");
  assertEquals(client.status, "wait", "it has not even connected");
});

Deno.test("acquire() leaves no timer and no listener after a thousand ways to end", async () => {
  const { signal } = new AbortController();
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  const ends: Answer[] = [() => granted(1n), () => busy(5), unreachable, hanging];
  const settings = checkAcquireOptions({ signal, wait: 20 });
  let count = 0;
  for (let i = 0; i < 1_000; i++) {
    store.onAttempt = ends[i % ends.length]!;
    const ended = acquireFrom(store, "a", settings, clock).then((lock) => lock?.release(), () => {}).then(() =>
      count++
    );
    // A first attempt is given 10 s, whatever wait is.
    await clock.advance(store.onAttempt === hanging ? 10_000 : 20);
    await ended;
  }
  assertEquals([count, getEventListeners(signal, "abort").length, clock.pending], [1_000, 0, 0]);
});

Deno.test("acquire() and tryAcquire() send their attempt before they return", async () => {
  for (const take of [acquire, tryAcquire]) {
    const store = new ScriptedStore(new VirtualClock());
    const acquiring = take(store, "a");
    assertEquals(store.calls.length, 1);
    await (await acquiring)?.release();
  }
});

Deno.test("clockOf() is one clock for each store", () => {
  const [one, other] = [memory(), memory()];
  const clocks = [one, one, other].map(clockOf);
  assertEquals([clocks[1] === clocks[0], clocks[2] === clocks[0]], [true, false]);
});

Deno.test("acquire() with wait: 1 queues, and ends after a millisecond", async () => {
  for (const [answer, code] of [[() => busy(10), "timeout"], [unreachable, "store"]] as const) {
    const clock = new VirtualClock();
    const store = new ScriptedStore(clock);
    const enqueued: boolean[] = [];
    store.onAttempt = (_, { enqueue }) => {
      enqueued.push(enqueue);
      return answer();
    };
    let result: unknown = "pending";
    acquireFrom(store, "a", checkAcquireOptions({ wait: 1 }), clock).catch((error: unknown) => result = error);
    await settled();
    assertEquals([result, enqueued], ["pending", [true]]);
    await clock.advance(1);
    assert(result instanceof LockError && result.code === code, `${result}`);
  }
});

Deno.test("acquire() puts the name of its client before the id of its owner, if it has one", async () => {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  for (const client of ["c", undefined]) {
    const lock = await acquireFrom(store, "a", { ...checkAcquireOptions({}), client }, clock);
    assert(lock !== null, "granted");
    assertEquals(lock.owner.replace(/[0-9a-f-]{36}$/, ""), client === undefined ? "" : "c:");
    await lock.release();
  }
});

Deno.test("acquire() ends its pause before the next attempt is answered", async () => {
  let waking: AbortSignal | undefined;
  const all = scene({ lease: HOUR, wait: HOUR }, () => busy(60_000), hanging);
  const before = all.clock.pending;
  all.store.wakeup = async (_, signal) => {
    waking = signal;
    await all.clock.sleep(10, signal);
  };
  await all.clock.advance(10);
  assertEquals([all.store.times("attempt"), waking?.aborted], [[0, 10], true]);
  assertEquals(all.clock.pending, before, "no timer of the pause");
  await all.clock.advance(HOUR);
});

Deno.test("acquire() retries the release after an attempt with an unknown outcome", async () => {
  const all = scene({ wait: 0 }, unreachable);
  all.store.onRelease = inTurn(unreachable, unreachable, () => true);
  await all.clock.advance(1_000);
  assertInstanceOf(all.result(), StoreError);
  assertEquals(all.store.times("release").length, 3);
  assertGivenUp(all);
});

Deno.test("acquire() counts a rejection with undefined as a fault", async () => {
  const all = scene({}, () => Promise.reject(undefined), () => granted(1n));
  await all.clock.advance(1_000);
  await (await heldBy(all)).release();
  assertEquals(all.store.eventTypes, ["fault", "waiting", "acquired", "released"]);
});
