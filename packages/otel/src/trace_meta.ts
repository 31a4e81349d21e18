import type { Meta } from "@holdfast/lock";
import type { OtelTrace } from "./api.ts";
import { activeSpan, denoTelemetry } from "./deno_telemetry.ts";
import { formatTraceparent } from "./traceparent.ts";

/**
 * Returns `{ traceparent }` of the active span, for the option `meta`; `{}` if no span is active. Listings of the
 * store's locks then show in which trace a lock is held, and `otel({ links })` links the spans of waiters to the
 * holder's span.
 *
 * @example
 * ```ts
 * import { acquire } from "@holdfast/lock";
 * import { memory } from "@holdfast/lock/memory";
 * import { traceMeta } from "@holdfast/otel";
 *
 * await using lock = await acquire(memory(), "invoice:42", { meta: traceMeta() }); // in Node: traceMeta(trace)
 * ```
 *
 * @param trace the `trace` of `@opentelemetry/api`; not needed in Deno
 * @throws {TypeError} when `trace` is missing outside of Deno
 */
export function traceMeta(trace?: OtelTrace): Meta {
  const span = trace === undefined ? activeSpanOfDeno() : trace.getActiveSpan();
  const traceparent = span === undefined ? undefined : formatTraceparent(span.spanContext());
  return traceparent === undefined ? {} : { traceparent };
}

function activeSpanOfDeno(): ReturnType<typeof activeSpan> {
  const telemetry = denoTelemetry();
  if (telemetry === undefined) {
    throw new TypeError("traceMeta() needs the trace of @opentelemetry/api in this runtime: pass it");
  }
  return activeSpan(telemetry);
}
