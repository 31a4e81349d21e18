import type { LockEvent, Observer } from "@holdfast/lock";
import { type Clock, SystemClock } from "./clock.ts";
import { LockMetrics } from "./metrics.ts";
import { checkOtelOptions, type OtelOptions, type OtelSettings } from "./options.ts";
import { LockSpans } from "./spans.ts";

/**
 * Returns an observer that makes OpenTelemetry metrics and spans of the events of locks. Several stores can share an
 * observer; make one for each process, as each has its own gauges.
 *
 * @example In Deno with `OTEL_DENO=true`
 * ```ts
 * import { acquire } from "@holdfast/lock";
 * import { memory } from "@holdfast/lock/memory";
 * import { otel } from "@holdfast/otel";
 *
 * const store = memory({ observer: otel({ group: (name) => name.split(":")[0] }) });
 * await using lock = await acquire(store, "invoice:42");
 * ```
 *
 * @throws {TypeError} when an option is unknown or of the wrong kind, or outside of Deno neither `meter` nor `tracer`
 * is given
 */
export function otel(options: OtelOptions = {}): Observer {
  return observerOf(checkOtelOptions(options), new SystemClock());
}

/** Returns the observer on a clock. */
export function observerOf({ meter, tracer, group, links }: OtelSettings, clock: Clock): Observer {
  const metrics = meter === undefined ? undefined : new LockMetrics(meter, group, clock);
  const spans = tracer === undefined ? undefined : new LockSpans(tracer, links, clock);
  return (event: LockEvent) => {
    // First: a tracer that throws must not cost a count.
    metrics?.observe(event);
    spans?.observe(event);
  };
}
