/**
 * Holds locks with the telemetry of Deno, and prints what happened: to be run with `OTEL_DENO=true`.
 *
 * @module
 */
import { acquire, type Store, tryAcquire } from "../../../mod.ts";
import { otel, traceMeta } from "../mod.ts";
import { memory } from "../../../src/stores/memory/mod.ts";
import { until } from "../../../tests/support/until.ts";

/** What a program with a tracer of Deno does. */
interface Tracer {
  startActiveSpan<T>(name: string, run: (span: { end(): void }) => T): T;
}

const store: Store = memory({ observer: otel({ links: () => store }) });
const tracer: Tracer = Deno.telemetry.tracerProvider.getTracer("program");

const first = await tracer.startActiveSpan("holder", async (span) => {
  const meta = traceMeta();
  const lock = await acquire(store, "a", { meta });
  span.end();
  return { lock, meta };
});
console.log(JSON.stringify({ fence: String(first.lock.fence), traceparent: first.meta["traceparent"] }));
const waiting = tracer.startActiveSpan("waiter", async (span) => {
  const lock = await acquire(store, "a");
  await lock.release();
  span.end();
  return lock;
});
await until(async () => (await store.query!()).pending.length === 1, "it waits");
await tryAcquire(store, "a");
await first.lock.release();
console.log(JSON.stringify({ fence: String((await waiting).fence) }));
const lost = await acquire(store, "b", { lease: 50, renew: false, strict: false });
await until(() => !lost.held, "the lease ends");
console.log(JSON.stringify({ fence: String(lost.fence) }));
