import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import {
  acquire,
  type AcquireOptions,
  type Attempt,
  type Lock,
  LockTimeoutError,
  StoreError,
  tryAcquire,
} from "@holdfast/lock";
import { getEventListeners } from "node:events";
import { attainFrom } from "../src/acquire.ts";
import { checkAcquireOptions } from "../src/options.ts";
import { RedisServer } from "./redis_server.ts";
import { busy, granted, hanging, inTurn, ScriptedStore, unreachable } from "./scripted_store.ts";
import { settled, VirtualClock } from "./virtual_clock.ts";

const HOUR = 3_600_000;

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
  const acquiring = attainFrom(store, "a", checkAcquireOptions(options), clock);
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
      name: "a",
      owner: lock.owner,
      hold: undefined,
      mode: "exclusive",
      permits: undefined,
      lease: 30_000,
    }],
  ]);
  assertEquals([lock.fence, all.clock.pending], [5n, 1]);
  assertEquals(all.store.events, [{ type: "acquired", name: "a", owner: lock.owner, fence: 5n, waited: 0 }]);
  await lock.release();
  assertEquals(all.clock.pending, 0);
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
  assertEquals([enqueued, store.times("release"), store.heard], [[false, false], [], []]);

  store.onAttempt = () => granted(1n);
  for (const taken of [acquire(store, "a", { wait: 0 }), tryAcquire(store, "a")]) await (await taken)?.release();
  assertEquals(store.heard, ["acquired", "acquired", "released", "released"]);
});

Deno.test("acquire() queues, and asks again when the store says so", async () => {
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
  assertEquals(all.store.events.at(-1), { type: "acquired", name: "a", owner: lock.owner, fence: 2n, waited: 240 });
  assertEquals(Math.round(lock.remaining()), 30_000 - 302 - 260, "counted from the attempt that was granted");
  await lock.release();
  assertEquals(all.clock.pending, 0);
});

Deno.test("acquire() asks again at once when it is woken, and the wake-up ends with its wait", async () => {
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
  for (const wakeup of [unreachable, hanging]) {
    const all = scene({}, () => busy(40), () => busy(40), () => granted(1n));
    all.store.wakeup = wakeup;
    await all.clock.advance(100);
    await heldBy(all);
    assertEquals(all.store.times("attempt"), [0, 40, 80]);
    assert(!all.store.heard.includes("fault"), "no call has failed");
  }
});

Deno.test("acquire() rejects with LockTimeoutError when its time is over, and leaves the queue", async () => {
  const all = scene({ wait: 500 }, () => busy(200));
  await all.clock.advance(499);
  assertEquals(all.result(), "pending");
  await all.clock.advance(1);
  const error = all.result();
  assertInstanceOf(error, LockTimeoutError);
  assertEquals([error.code, all.store.times("attempt"), all.store.times("release")], ["timeout", [0, 200, 400], [500]]);
  assertGivenUp(all);
  assertEquals(all.store.heard, ["waiting"]);
});

Deno.test("acquire() rejects with the reason of its signal, whatever that is, and leaves the queue", async () => {
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
  const timed = scene({ wait: 500 }, hanging);
  const aborted = scene({ signal: controller.signal }, hanging);
  await timed.clock.advance(500);
  assertInstanceOf(timed.result(), LockTimeoutError);
  await aborted.clock.advance(500);
  controller.abort("enough");
  await settled();
  assertEquals(aborted.result(), "enough");
  assertEquals([timed.clock.pending, aborted.clock.pending], [0, 0]);
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

Deno.test("acquire() gives back what an abandoned attempt is granted later", async () => {
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
    assertEquals(all.store.heard, [], "nobody has held it");
    assertGivenUp(all);
  }
});

Deno.test("acquire() goes on giving back when the store fails at that", async () => {
  const controller = new AbortController();
  const all = scene({ signal: controller.signal }, () => busy(HOUR));
  all.store.onRelease = inTurn(unreachable, unreachable, () => true);
  await settled();
  controller.abort("enough");
  await all.clock.advance(1_000);
  assertEquals([all.result(), all.store.times("release").length], ["enough", 3]);
  assertGivenUp(all);
});

Deno.test("acquire() rejects with StoreError when its first attempt fails, after giving back", async () => {
  const all = scene({}, unreachable);
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
  assertEquals(all.store.heard, ["fault"]);
});

Deno.test("acquire() rejects soon when giving back fails or hangs as well", async () => {
  for (const answer of [unreachable, hanging]) {
    const all = scene({}, unreachable);
    all.store.onRelease = answer;
    await all.clock.advance(1_000);
    assertInstanceOf(all.result(), StoreError);
    await all.clock.advance(HOUR);
    assertGivenUp(all);
  }
});

Deno.test("acquire() and tryAcquire() keep their time and their signal while they give back", async () => {
  for (const wait of [50, Infinity, 0]) {
    const enough = new AbortController();
    const all = scene({ wait, signal: enough.signal }, unreachable);
    all.store.onRelease = hanging;
    await all.clock.advance(50);
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

Deno.test("acquire() lives through faults while it waits, asking again with a back-off", async () => {
  const all = scene({}, () => busy(100), unreachable, unreachable, unreachable, unreachable, () => granted(1n));
  await all.clock.advance(5_000);
  const lock = await heldBy(all);
  const times = all.store.times("attempt");
  const pauses = times.slice(1).map((time, i) => time - times[i]!);
  assert(pauses.slice(1).every((pause) => pause >= 10 && pause <= 1_000), pauses.join());
  assertEquals(all.store.heard, ["waiting", "fault", "fault", "fault", "fault", "acquired"]);
  assertEquals([lock.held, all.store.times("release")], [true, []]);
});

Deno.test("acquire() rejects with StoreError after 10 s of nothing but faults", async () => {
  const all = scene({}, () => busy(100), unreachable);
  await all.clock.advance(100 + FAULT_TOLERANCE - 1);
  assertEquals(all.result(), "pending");
  await all.clock.advance(1_000);
  assertInstanceOf(all.result(), StoreError);
  const calls = all.store.times("attempt").length;
  assert(calls >= 10 && calls <= 50, `${calls} attempts`);
  assertGivenUp(all);
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
  assert(all.store.heard.filter((type) => type === "fault").length > 40, "there were faults all the time");
});

Deno.test("acquire() ends within its time and with its signal while the store fails", async () => {
  const controller = new AbortController();
  const timed = scene({ wait: 500 }, () => busy(10), unreachable);
  const aborted = scene({ signal: controller.signal }, () => busy(10), unreachable);
  await timed.clock.advance(500);
  assertInstanceOf(timed.result(), LockTimeoutError);
  await aborted.clock.advance(500);
  controller.abort("enough");
  await settled();
  assertEquals(aborted.result(), "enough");
});

Deno.test("acquire() asks a store that was closed no more", async () => {
  const all = scene({}, () => busy(100), unreachable);
  all.store.closed = true;
  await all.clock.advance(HOUR);
  assertInstanceOf(all.result(), StoreError);
  assertEquals(all.store.times("attempt"), [0, 100]);
});

Deno.test("acquire() takes a grant that came later than its lease for a fault, when it does not wait", async () => {
  const { promise, resolve } = Promise.withResolvers<Attempt>();
  const all = scene({ lease: 900, wait: 0 }, () => promise);
  await all.clock.advance(889);
  assertEquals(all.result(), "pending");
  resolve(granted(1n));
  await settled();
  assertInstanceOf(all.result(), StoreError);
  assertEquals(all.store.heard, ["fault"]);
  assertGivenUp(all);
});

Deno.test("acquire() asks again after a grant that came too late while it waits, as the same owner", async () => {
  for (const before of [[], [() => busy(100)]]) {
    const { promise, resolve } = Promise.withResolvers<Attempt>();
    const all = scene({ lease: 900 }, ...before, () => promise, () => granted(2n));
    await all.clock.advance(1_000);
    assertEquals(all.result(), "pending");
    resolve(granted(1n));
    await all.clock.advance(100);
    const lock = await heldBy(all);
    assertEquals([lock.fence, all.store.heard.toSorted()], [2n, ["acquired", "fault", "waiting"]]);
    assertEquals(new Set(all.store.calls.map((call) => call.claim.owner)).size, 1);
    assertEquals(all.store.times("release"), []);
  }
});

Deno.test("acquire() gives the store's own words and cause when that has refused", async () => {
  const cause = new Error("NOPERM");
  const all = scene({}, () => Promise.reject(new StoreError("NOPERM", { cause })));
  all.store.onRelease = unreachable;
  await all.clock.advance(HOUR);
  const error = all.result();
  assertInstanceOf(error, StoreError);
  assertEquals([error.cause, error.message.includes("NOPERM")], [cause, true]);
  assertEquals(all.store.times("release"), [0], "nothing was done: there is nothing to insist on");
});

Deno.test("acquire() insists on giving back what an attempt may have taken although another one was refused", async () => {
  const refused = () => Promise.reject(new StoreError("LOADING"));
  const { promise, resolve } = Promise.withResolvers<Attempt>();
  // Aborted while an attempt is out that is granted later, and in the pause after the refusal, with a place in the queue.
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

Deno.test("acquire() on a store whose observer throws works as ever", async () => {
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

Deno.test("acquire() hears a signal that aborts while the store of its client is made, and sends nothing", async () => {
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
    const ended = attainFrom(store, "a", settings, clock).then((lock) => lock?.release(), () => {}).then(() => count++);
    await clock.advance(20);
    await ended;
  }
  assertEquals([count, getEventListeners(signal, "abort").length, clock.pending], [1_000, 0, 0]);
});
