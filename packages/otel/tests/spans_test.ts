import { acquire, LockConflictError, type Store, StoreError } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { otel } from "@holdfast/otel";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { busy, granted, inTurn, refused, unreachable } from "../../../tests/support/scripted_store.ts";
import { until } from "../../../tests/support/until.ts";
import { settled } from "../../../tests/support/virtual_clock.ts";
import { Place } from "./place.ts";
import { RecordingTracer } from "./recording.ts";

const SUBJECT = { name: "a", owner: "h", handle: "h", mode: "exclusive" } as const;

/** A `traceparent`, and the span that it stands for. */
const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const SPAN_ID = "b7ad6b7169203331";
const TRACEPARENT = `00-${TRACE_ID}-${SPAN_ID}-01`;
const HOLDER = { context: { traceId: TRACE_ID, spanId: SPAN_ID, traceFlags: 1, isRemote: true } };

Deno.test("otel() makes a span of the call of acquire that lasts as long as the wait", async () => {
  const place = new Place();
  place.store.onAttempt = inTurn(() => busy(250), () => granted(7n));
  const acquiring = place.acquire("invoice:42");
  await place.clock.advance(250);
  const lock = await acquiring;
  const [span] = place.tracer.ended("acquire");
  assertEquals([span?.duration, span?.endTime], [250, place.clock.now().wall]);
  assertEquals(span?.attributes, {
    "holdfast.lock.name": "invoice:42",
    "holdfast.lock.handle": lock?.owner ?? "",
    "holdfast.lock.mode": "exclusive",
    "holdfast.lock.result": "acquired",
  });
});

Deno.test("otel() makes a span of the hold, with the fence, that ends with the release", async () => {
  const place = new Place();
  place.store.onAttempt = () => granted(2n ** 60n);
  const lock = await place.hold("a", { permits: 3 });
  assertEquals(place.tracer.ended("hold"), []);
  await place.clock.advance(2_000);
  await lock.release();
  const [span] = place.tracer.ended("hold");
  assertEquals([span?.duration, span?.ends, span?.status], [2_000, 1, undefined]);
  assertEquals(span?.attributes["holdfast.lock.fence"], "1152921504606846976");
  assertEquals(span?.attributes["holdfast.lock.permits"], 3);
});

Deno.test("otel() marks as errors the calls that reject, unless they were aborted", async () => {
  const place = new Place();
  const status = () => place.tracer.ended("acquire").at(-1)?.status;
  place.store.onAttempt = () => busy(1_000);
  await place.acquire("a", { wait: 0 });
  assertEquals(status(), undefined);
  const controller = new AbortController();
  const aborted = assertRejects(() => place.acquire("a", { signal: controller.signal }), Error);
  await place.clock.advance(0);
  controller.abort();
  await aborted;
  assertEquals(status(), undefined);
  const late = assertRejects(() => place.acquire("a", { wait: 10 }), Error);
  await place.clock.advance(10);
  await late;
  assertEquals(status()?.code, 2);
  place.store.onAttempt = () => ({ granted: false, conflict: { present: "shared", own: true } });
  const { message } = await assertRejects(() => place.acquire("a"), LockConflictError);
  assertEquals(status(), { code: 2, message });
  place.store.onAttempt = refused;
  const error = await assertRejects(() => place.acquire("a"), StoreError);
  assertEquals(status(), { code: 2, message: error.message });
  const results = place.tracer.ended("acquire").map(({ attributes }) => attributes["holdfast.lock.result"]);
  assertEquals(results, ["busy", "aborted", "timeout", "conflict", "error"]);
});

Deno.test("otel() notes each fault of a call on its span, at its moment", async () => {
  const place = new Place();
  place.store.onAttempt = inTurn(() => busy(100), unreachable, () => granted(1n));
  const acquiring = place.acquire("a");
  await place.clock.advance(1_000);
  await acquiring;
  const [span] = place.tracer.ended("acquire");
  assertEquals(span?.events, [{
    name: "fault",
    attributes: {
      "holdfast.lock.operation": "attempt",
      "exception.type": "Error",
      "exception.message": "connection refused",
    },
    time: (span?.startTime ?? NaN) + 100,
  }]);
});

Deno.test("otel() keeps at most 100 faults of a call that waits on", async () => {
  const place = new Place();
  let attempts = 0;
  place.store.onAttempt = () => ++attempts % 2 === 0 ? busy(10) : unreachable();
  const waiting = assertRejects(() => place.acquire("a", { wait: 60_000 }), Error);
  await place.clock.advance(60_000);
  await waiting;
  assert(place.meter.sum("faults", { operation: "attempt" }) > 100, "there were more");
  assertEquals(place.tracer.ended("acquire")[0]?.events.length, 100);
});

Deno.test("otel() notes faults and the loss of a lock on the span of the hold", async () => {
  const place = new Place();
  place.store.onRenew = inTurn(unreachable, () => "lost");
  await place.hold("a", { lease: 900 });
  await place.clock.advance(5_000);
  const [span] = place.tracer.ended("hold");
  assertEquals(span?.events.map(({ name }) => name), ["fault", "lost"]);
  assertEquals(span?.events[1]?.attributes["holdfast.lock.reason"], "missing");
  assertEquals([span?.status?.code, span?.ends], [2, 1]);
  assertEquals(Math.round(span?.duration ?? NaN), Math.round(place.meter.of("hold.duration")[0]!.value * 1_000));
});

Deno.test("otel() ends the span of a hold once when its release fails and then succeeds", async () => {
  const place = new Place();
  const lock = await place.hold("a");
  place.store.onRelease = inTurn(unreachable, () => true);
  const releasing = lock.release();
  await place.clock.advance(1_000);
  await releasing;
  const [span] = place.tracer.ended("hold");
  assertEquals([span?.ends, span?.status, span?.events.map(({ name }) => name)], [1, undefined, ["fault"]]);
});

Deno.test("otel() ends the span of a hold whose release is never confirmed, with an error", async () => {
  const place = new Place();
  const lock = await place.hold("a");
  place.store.onRelease = unreachable;
  const releasing = assertRejects(() => lock.release(), Error);
  await place.clock.advance(10_000);
  await releasing;
  assertEquals(place.tracer.ended("hold"), []);
  // Any other event ends it.
  await place.hold("b");
  const [span] = place.tracer.ended("hold");
  assertEquals([span?.ends, span?.status?.code, span?.duration], [1, 2, 0]);
});

Deno.test("otel() waits for at most 1,000 releases to be confirmed", async () => {
  const place = new Place();
  place.store.onRelease = unreachable;
  const locks = await Promise.all(Array.from({ length: 1_002 }, (_, i) => place.hold(`${i}`)));
  const releasing = Promise.allSettled(locks.map((lock) => lock.release()));
  await place.clock.advance(1);
  await place.hold("another");
  assertEquals(place.tracer.ended("hold").map(({ attributes }) => attributes["holdfast.lock.name"]), ["0", "1"]);
  place.store.onRelease = () => true;
  await place.clock.advance(10_000);
  await releasing;
});

Deno.test("otel() links a call that waits to the spans of the holders", async () => {
  const tracer = new RecordingTracer();
  const store: Store = memory({ observer: otel({ tracer, links: () => store }) });
  const lock = await acquire(store, "a", { meta: { traceparent: TRACEPARENT } });
  const other = await acquire(store, "b", { meta: { traceparent: TRACEPARENT.replace("b7", "c7") } });
  const acquiring = acquire(store, "a");
  await until(async () => (await store.query!({ name: "a" })).pending.length === 1, "it waits");
  await settled();
  for (const held of [lock, other]) await held.release();
  await (await acquiring).release();
  const [free, , waited] = tracer.ended("acquire");
  assertEquals([free?.links, waited?.links], [[], [HOLDER]]);
});

Deno.test("otel() links to at most 8 holders, of a store that it is given as it is", async () => {
  const tracer = new RecordingTracer();
  const asked = memory();
  const holders = await Promise.all(Array.from({ length: 9 }, () => {
    return acquire(asked, "a", { permits: 9, meta: { traceparent: TRACEPARENT } });
  }));
  const observer = otel({ tracer, links: asked });
  observer({ ...SUBJECT, type: "waiting" });
  await settled();
  observer({ ...SUBJECT, type: "acquired", fence: 1n, waited: 1 });
  assertEquals(tracer.ended("acquire")[0]?.links.length, 8);
  for (const lock of holders) await lock.release();
});

Deno.test("otel() keeps nothing of a call and of a hold that have ended", () => {
  const { store: { observer }, tracer } = new Place();
  for (let time = 0; time < 2; time++) {
    if (time === 0) observer({ ...SUBJECT, type: "fault", operation: "attempt", error: new Error("store") });
    observer({ ...SUBJECT, type: "acquired", fence: 1n, waited: 1 });
    if (time === 0) observer({ ...SUBJECT, type: "fault", operation: "release", error: new Error("store") });
    observer({ ...SUBJECT, type: "released", fence: 1n, held: 1 });
    observer({ ...SUBJECT, type: "released", fence: 1n, held: 1 });
  }
  observer({ ...SUBJECT, type: "fault", operation: "release", error: new Error("store") });
  assertEquals(tracer.spans.map(({ name, ends, events }) => [name, ends, events.length]), [
    ["acquire", 1, 1],
    ["hold", 1, 1],
    ["acquire", 1, 0],
    ["hold", 1, 0],
  ]);
});

Deno.test("otel() links to no holder whose traceparent it cannot read", async () => {
  const entry = { name: "a", owner: "x", handle: "x", mode: "shared" } as const;
  const metas = [{ traceparent: "nonsense" }, { host: "web-1" }, undefined, { traceparent: TRACEPARENT }];
  const links = { query: () => Promise.resolve({ held: metas.map((meta) => ({ ...entry, meta })), pending: [] }) };
  const place = new Place({ links: () => links });
  place.store.onAttempt = inTurn(() => busy(10), () => granted(1n));
  const acquiring = place.acquire("a");
  await place.clock.advance(10);
  await acquiring;
  assertEquals(place.tracer.ended("acquire")[0]?.links, [HOLDER]);
});

Deno.test("otel() asks for the holders once for each call that waits, and ignores a failure", async () => {
  const asked: unknown[] = [];
  const query = (options: unknown) => {
    asked.push(options);
    return Promise.reject(new Error("query"));
  };
  const place = new Place({ links: () => ({ query }) });
  await place.hold("free");
  place.store.onAttempt = inTurn(() => busy(10), () => busy(10), () => granted(1n));
  const acquiring = place.acquire("a");
  await place.clock.advance(20);
  await acquiring;
  assertEquals(asked, [{ name: "a" }]);
});
