import type { OtelMeter, OtelSpan, OtelTracer } from "./api.ts";

/** The makers of metrics and spans. */
interface Instrumentation {
  readonly meter: OtelMeter | undefined;
  readonly tracer: OtelTracer | undefined;
}

/** The part of `Deno.telemetry` that is used. */
interface DenoTelemetry {
  readonly meterProvider: { getMeter(name: string): OtelMeter };
  readonly tracerProvider: { getTracer(name: string): OtelTracer };
  readonly contextManager: { active(): { getValue(key: symbol): unknown } };
}

/**
 * The key of the active span in a context. The key is the same in Deno and in every version of `@opentelemetry/api`.
 */
const SPAN_KEY = Symbol.for("OpenTelemetry Context Key SPAN");

/** Returns the telemetry of Deno; `undefined` in another runtime. */
export function denoTelemetry(): DenoTelemetry | undefined {
  const { Deno } = globalThis as { Deno?: { telemetry?: DenoTelemetry } };
  return Deno?.telemetry;
}

/** Returns a meter and a tracer of this name; neither while telemetry is off, without `OTEL_DENO=true`. */
export function instrumentation({ meterProvider, tracerProvider }: DenoTelemetry, scope: string): Instrumentation {
  try {
    return { meter: meterProvider.getMeter(scope), tracer: tracerProvider.getTracer(scope) };
  } catch {
    return { meter: undefined, tracer: undefined }; // It throws "otel not initialized".
  }
}

/** Returns the active span. */
export function activeSpan({ contextManager }: DenoTelemetry): OtelSpan | undefined {
  return contextManager.active().getValue(SPAN_KEY) as OtelSpan | undefined;
}
