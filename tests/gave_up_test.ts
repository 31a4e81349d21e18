import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import {
  acquire,
  acquireAll,
  type AcquireOptions,
  type Attempt,
  type GaveUpReason,
  type LockEvent,
  LockLostError,
  LockTimeoutError,
  StoreError,
  tryAcquire,
} from "@holdfast/lock";
import { acquireFrom } from "../src/lock/acquisition.ts";
import { SystemClock } from "../src/time/clock.ts";
import { checkAcquireOptions } from "../src/lock/options.ts";
import { onClock } from "./simulation/handoff/stores.ts";
import { busy, granted, hanging, inTurn, refused, ScriptedStore, unreachable } from "./support/scripted_store.ts";
import { settled, VirtualClock } from "./support/virtual_clock.ts";

const HOUR = 3_600_000;

const CONFLICT: Attempt = { granted: false, conflict: { present: 3, own: false } };

type Answer = () => Attempt | Promise<Attempt>;

/** A call, how it ends, and after how many milliseconds. */
interface Case {
  readonly what: string;
  readonly options: AcquireOptions;
  readonly answers: readonly Answer[];
  readonly abortAt?: number;
  readonly closed?: boolean;
  readonly reason: GaveUpReason;
  readonly waited: number;
}

const late = (clock: VirtualClock): Answer => async () => {
  await clock.sleep(1_000);
  return granted(1n);
};

/** The ways in which a call ends without the lock. */
function cases(clock: VirtualClock): Case[] {
  return [
    { what: "one attempt", options: { wait: 0 }, answers: [() => busy(10)], reason: "busy", waited: 0 },
    { what: "its time", options: { wait: 70 }, answers: [() => busy(50)], reason: "timeout", waited: 70 },
    {
      what: "its time, faults last",
      options: { wait: 70 },
      answers: [() => busy(10), unreachable],
      reason: "timeout",
      waited: 70,
    },
    { what: "its time, no answer", options: { wait: 70 }, answers: [hanging], reason: "store", waited: 10_000 },
    {
      what: "its time, no answer after the first",
      options: { wait: 70 },
      answers: [() => busy(10), hanging],
      reason: "timeout",
      waited: 70,
    },
    { what: "its time, faults only", options: { wait: 70 }, answers: [unreachable], reason: "store", waited: 70 },
    {
      what: "its signal, while it waits",
      options: {},
      answers: [() => busy(HOUR)],
      abortAt: 30,
      reason: "aborted",
      waited: 30,
    },
    { what: "its signal, no answer", options: {}, answers: [hanging], abortAt: 30, reason: "aborted", waited: 30 },
    {
      what: "its signal, faults only",
      options: {},
      answers: [unreachable],
      abortAt: 30,
      reason: "aborted",
      waited: 30,
    },
    {
      what: "its signal, before it began",
      options: {},
      answers: [() => granted(1n)],
      abortAt: -1,
      reason: "aborted",
      waited: 0,
    },
    { what: "a conflict", options: {}, answers: [() => CONFLICT], reason: "conflict", waited: 0 },
    {
      what: "a conflict, later",
      options: {},
      answers: [() => busy(40), () => CONFLICT],
      reason: "conflict",
      waited: 40,
    },
    { what: "one fault", options: { wait: 0 }, answers: [unreachable], reason: "store", waited: 0 },
    {
      what: "one attempt without an answer",
      options: { wait: 0 },
      answers: [hanging],
      reason: "store",
      waited: 10_000,
    },
    { what: "no answer for long", options: {}, answers: [hanging], reason: "store", waited: 10_000 },
    { what: "a closed store", options: {}, answers: [unreachable], closed: true, reason: "store", waited: 0 },
    { what: "a fault for good", options: {}, answers: [() => busy(40), refused], reason: "store", waited: 40 },
    {
      what: "a bad argument",
      options: {},
      answers: [() => Promise.reject(new RangeError("bad"))],
      reason: "store",
      waited: 0,
    },
    { what: "a late grant", options: { wait: 0, lease: 900 }, answers: [late(clock)], reason: "store", waited: 1_000 },
  ];
}

Deno.test("acquire() that gives up says why, once, with the error of the call", async () => {
  const names = cases(new VirtualClock()).map(({ what }) => what);
  for (const name of names) {
    const clock = new VirtualClock();
    const { options, answers, abortAt, closed = false, reason, waited } = cases(clock).find(({ what }) =>
      what === name
    )!;
    const store = new ScriptedStore(clock);
    store.onAttempt = inTurn(...answers);
    store.closed = closed;
    const abort = new AbortController();
    if (abortAt === -1) abort.abort("enough");
    else if (abortAt !== undefined) clock.timer(abortAt, () => abort.abort("enough"));
    let outcome: unknown = "pending";
    acquireFrom(store, "a", checkAcquireOptions({ ...options, signal: abort.signal }), clock).then(
      (lock) => outcome = lock,
      (error: unknown) => outcome = error,
    );
    await clock.advance(HOUR);
    const ends = store.events.filter(({ type }) => type === "gave_up" || type === "acquired");
    assertEquals(ends.length, 1, name);
    const [end] = ends;
    assert(end?.type === "gave_up", name);
    assertEquals([end.reason, end.waited], [reason, waited], name);
    assert(reason === "busy" ? outcome === null && end.error === undefined : end.error === outcome, name);
  }
});

Deno.test("acquire() that gives up says aborted, whatever the reason of its signal is", async () => {
  const reasons = [
    new LockTimeoutError("of another lock"),
    new StoreError("of another"),
    new LockLostError("lost"),
    null,
  ];
  for (const reason of reasons) {
    const clock = new VirtualClock();
    const store = new ScriptedStore(clock);
    store.onAttempt = () => busy(HOUR);
    const abort = new AbortController();
    const acquiring = acquireFrom(store, "a", checkAcquireOptions({ signal: abort.signal }), clock);
    await settled();
    abort.abort(reason);
    assertEquals(await acquiring.catch((error: unknown) => error), reason);
    const end = store.events.at(-1);
    assert(end?.type === "gave_up" && end.reason === "aborted" && end.error === reason, `${reason}`);
  }
});

Deno.test("acquire() that was aborted has no event of the grant that comes later", async () => {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  store.onAttempt = late(clock);
  const abort = new AbortController();
  const acquiring = acquireFrom(store, "a", checkAcquireOptions({ signal: abort.signal }), clock);
  acquiring.catch(() => {});
  await clock.advance(100);
  abort.abort("enough");
  await clock.advance(HOUR);
  assertEquals([store.eventTypes, store.times("release")], [["gave_up"], [1_000]]);
});

Deno.test("acquire() ends in one event also when an observer aborts it", async () => {
  for (const during of ["waiting", "fault", "acquired", "gave_up"] as const) {
    const clock = new VirtualClock();
    const store = new ScriptedStore(clock);
    store.onAttempt = inTurn(unreachable, () => busy(20), () => during === "gave_up" ? CONFLICT : granted(1n));
    const abort = new AbortController();
    const note = store.observer;
    store.observer = (event) => {
      note(event);
      if (event.type === during) abort.abort("enough");
    };
    const acquiring = acquireFrom(store, "a", checkAcquireOptions({ signal: abort.signal }), clock);
    const ended = acquiring.then((lock) => lock?.release(), () => {});
    await clock.advance(1_000);
    await ended;
    const ends = store.eventTypes.filter((type) => type === "acquired" || type === "gave_up");
    assertEquals(ends, [during === "acquired" ? "acquired" : "gave_up"], during);
  }
});

Deno.test("acquire() and tryAcquire() that asked nothing have no event", async () => {
  const store = new ScriptedStore(new VirtualClock());
  for (const ask of [acquire, tryAcquire]) {
    await assertRejects(async () => void await ask(store, "a", { signal: AbortSignal.abort() }), DOMException);
    await assertRejects(async () => void await ask(store, "a", { mode: "shared" }), TypeError, "not supported");
  }
  assertEquals(store.events, []);
});

Deno.test("acquireAll() whose time is over gives up each wait with timeout, not aborted", async () => {
  const store = new ScriptedStore(new SystemClock());
  store.onAttempt = ({ name }) => name === "a" ? granted(1n) : busy(60_000);
  const error = await assertRejects(() => acquireAll(store, ["a", "b"], { wait: 30 }), LockTimeoutError);
  const [last, ...others] = gaveUp(store.events).reverse();
  assertEquals(others.map(({ name, reason }) => [name, reason]), [["b", "busy"]]);
  assert(last?.name === "b" && last.reason === "timeout", last?.reason);
  assertInstanceOf(last.error, LockTimeoutError);
  assertEquals(last.error.message, error.message);
  assertEquals(endsOf(store.events), ["a acquired", "b gave_up", "b gave_up"]);
});

Deno.test("acquireAll() whose time is over while nothing is answered gives up with store", async () => {
  const clock = new VirtualClock();
  const store = onClock(new ScriptedStore(clock), clock);
  store.onAttempt = hanging;
  const rejected = assertRejects(() => acquireAll(store, ["a", "b"], { wait: 30 }), StoreError);
  await clock.advance(HOUR);
  await rejected;
  assertEquals(gaveUp(store.events).map(({ name, reason }) => [name, reason]), [["a", "store"], ["b", "store"]]);
});

Deno.test("acquireAll() that is aborted gives up each wait with the reason of its signal", async () => {
  const store = new ScriptedStore(new SystemClock());
  store.onAttempt = ({ name }) => name === "a" ? granted(1n) : busy(60_000);
  const abort = new AbortController();
  const acquiring = acquireAll(store, ["a", "b"], { signal: abort.signal });
  const rejected = acquiring.then(() => "nothing", (error: unknown) => error);
  while (!store.eventTypes.includes("waiting")) await settled();
  abort.abort("enough");
  assertEquals(await rejected, "enough");
  const last = gaveUp(store.events).at(-1);
  assertEquals([last?.name, last?.reason, last?.error], ["b", "aborted", "enough"]);
});

function gaveUp(events: readonly LockEvent[]): (LockEvent & { type: "gave_up" })[] {
  return events.flatMap((event) => event.type === "gave_up" ? [event] : []);
}

function endsOf(events: readonly LockEvent[]): string[] {
  return events.flatMap(({ name, type }) => type === "acquired" || type === "gave_up" ? [`${name} ${type}`] : []);
}
