/**
 * OpenTelemetry metrics and spans of locks. Nothing is imported: the meter and the tracer come from `Deno.telemetry` or
 * from `@opentelemetry/api`.
 *
 * @example In Deno with `OTEL_DENO=true`
 * ```ts
 * import { acquire } from "@holdfast/lock";
 * import { memory } from "@holdfast/lock/memory";
 * import { otel } from "@holdfast/otel";
 *
 * const store = memory({ observer: otel() });
 * await using lock = await acquire(store, "invoice:42");
 * ```
 *
 * @example In Node
 * ```ts
 * import { metrics, trace } from "@opentelemetry/api";
 * import { memory } from "@holdfast/lock/memory";
 * import { otel } from "@holdfast/otel";
 *
 * const meter = metrics.getMeter("@holdfast/lock");
 * const tracer = trace.getTracer("@holdfast/lock");
 * const store = memory({ observer: otel({ meter, tracer }) });
 * ```
 *
 * @module
 */
export { otel } from "./src/otel.ts";
export { traceMeta } from "./src/trace_meta.ts";
export type { OtelOptions, QueryableStore } from "./src/options.ts";
export type {
  OtelAttributes,
  OtelCounter,
  OtelHistogram,
  OtelLink,
  OtelMeter,
  OtelMetricOptions,
  OtelObservable,
  OtelObservableResult,
  OtelSpan,
  OtelSpanContext,
  OtelSpanOptions,
  OtelTrace,
  OtelTracer,
} from "./src/api.ts";
