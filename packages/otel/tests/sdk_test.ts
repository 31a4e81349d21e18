import { acquire, LockTimeoutError, type Store } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { otel, traceMeta } from "@holdfast/otel";
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { PrometheusExporter, PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, type ReadableSpan } from "@opentelemetry/sdk-trace-base";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { until } from "../../../tests/support/until.ts";
import { settled } from "../../../tests/support/virtual_clock.ts";

/** Returns what the exporter shows to Prometheus. */
async function scrape(exporter: PrometheusExporter): Promise<string> {
  const { resourceMetrics, errors } = await exporter.collect();
  assertEquals(errors, []);
  return new PrometheusSerializer().serialize(resourceMetrics);
}

/** Returns the value of a time series in the text format of Prometheus. */
function sample(text: string, name: string, labels: Record<string, string> = {}): number | undefined {
  const line = text.split("\n").find((line) =>
    new RegExp(`^holdfast_lock_${name}[{ ]`).test(line) &&
    Object.entries(labels).every(([label, value]) => line.includes(`${label}="${value}"`))
  );
  return line === undefined ? undefined : Number(line.split(" ").at(-1));
}

Deno.test("otel() feeds the metrics SDK of OpenTelemetry and its exporter for Prometheus", async () => {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const provider = new MeterProvider({ readers: [exporter] });
  const group = (name: string) => name.split(":")[0];
  const store = memory({ observer: otel({ meter: provider.getMeter("@holdfast/lock"), group }) });
  const lock = await acquire(store, "invoice:42");
  await assertRejects(() => acquire(store, "invoice:42", { wait: 20 }), LockTimeoutError);
  const waiting = acquire(store, "invoice:42");
  await until(async () => (await store.query!()).pending.length === 1, "it waits");
  const during = await scrape(exporter);
  await lock.release();
  await (await waiting).release();
  const after = await scrape(exporter);
  await provider.shutdown();
  const labels = { group: "invoice" };
  const live = ["active", "request_active"];
  assertEquals(live.map((name) => sample(during, name, labels)), [1, 1], during);
  assertEquals(live.map((name) => sample(after, name, labels)), [0, 0], after);
  assert(sample(during, "hold_oldest", labels)! > 0.01, during);
  assertEquals(sample(after, "wait_duration_count", { ...labels, result: "acquired" }), 2, after);
  assertEquals(sample(after, "wait_duration_count", { ...labels, result: "timeout" }), 1, after);
  assertEquals(sample(after, "hold_duration_count", { ...labels, end: "released" }), 2, after);
  assertEquals(sample(after, "contentions_total", labels), 2, after);
  assertEquals(sample(after, "wait_duration_bucket", { result: "timeout", le: "0.01" }), 0, after);
  assertEquals(sample(after, "wait_duration_bucket", { result: "timeout", le: "10" }), 1, after);
  assert(!after.includes("invoice:42"), "no name of a lock is on a metric");
});

/** Runs with the tracing SDK; returns the spans that have ended. */
async function traced(run: (tracer: ReturnType<BasicTracerProvider["getTracer"]>) => Promise<void>) {
  const spans: ReadableSpan[] = [];
  const [onStart, done] = [() => {}, () => Promise.resolve()];
  const processor = { onStart, onEnd: (span: ReadableSpan) => void spans.push(span), shutdown: done, forceFlush: done };
  const provider = new BasicTracerProvider({ spanProcessors: [processor] });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  try {
    await run(provider.getTracer("@holdfast/lock"));
    return spans;
  } finally {
    context.disable();
    await provider.shutdown();
  }
}

function idOf(span: ReadableSpan | undefined): string | undefined {
  return span?.spanContext().spanId;
}

Deno.test("otel() makes spans of the tracing SDK below the span that calls acquire", async () => {
  const spans = await traced(async (tracer) => {
    const store = memory({ observer: otel({ tracer }) });
    const blocker = await acquire(store, "a");
    const requests = ["first", "second"].map((name) =>
      tracer.startActiveSpan(name, async (span) => {
        const lock = await acquire(store, "a");
        await lock.release();
        span.end();
      })
    );
    await until(async () => (await store.query!()).pending.length === 2, "they wait");
    await blocker.release();
    await Promise.all(requests);
  });
  for (const name of ["first", "second"]) {
    const request = spans.find((span) => span.name === name);
    const children = spans.filter(({ parentSpanContext }) => parentSpanContext?.spanId === idOf(request));
    assertEquals(children.map((span) => span.name).sort(), ["holdfast.lock.acquire", "holdfast.lock.hold"], name);
  }
  const orphans = spans.filter(({ parentSpanContext }) => parentSpanContext === undefined).map(({ name }) => name);
  assertEquals(orphans.sort(), ["first", "holdfast.lock.acquire", "holdfast.lock.hold", "second"]);
});

Deno.test("otel() links the waiter's span to that in which the holder called acquire", async () => {
  const spans = await traced(async (tracer) => {
    const store: Store = memory({ observer: otel({ tracer, links: () => store }) });
    const hold = tracer.startActiveSpan("holder", async (span) => {
      const lock = await acquire(store, "a", { meta: traceMeta(trace) });
      span.end();
      return lock;
    });
    const lock = await hold;
    const waiting = acquire(store, "a");
    await until(async () => (await store.query!()).pending.length === 1, "it waits");
    await settled();
    await lock.release();
    await (await waiting).release();
  });
  const holder = spans.find(({ name }) => name === "holder");
  const links = spans.flatMap(({ links }) => links);
  assertEquals(links.map((link) => link.context.spanId), [idOf(holder)!]);
  assertEquals(links[0]?.context.traceId, holder?.spanContext().traceId);
});
