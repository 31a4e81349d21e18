import type { Store } from "@holdfast/lock";
import { checkKeys, show } from "@holdfast/lock/authors";
import type { OtelMeter, OtelTracer } from "./api.ts";
import { denoTelemetry, instrumentation } from "./deno_telemetry.ts";

/** A store that lists its locks. */
export type QueryableStore = Pick<Store, "query">;

/** Options of `otel()`. */
export interface OtelOptions {
  /**
   * Makes the metrics: `metrics.getMeter("@holdfast/lock")` of `@opentelemetry/api`. Without `meter` and `tracer`, both
   * come from `Deno.telemetry` (nothing is made while telemetry is off). With only one of them there are only metrics,
   * or only spans.
   */
  meter?: OtelMeter | undefined;
  /** Makes the spans: `trace.getTracer("@holdfast/lock")` of `@opentelemetry/api`. */
  tracer?: OtelTracer | undefined;
  /**
   * Returns the group of a lock, which becomes the attribute `group` of its metrics, such as `"invoice"` for
   * `"invoice:42"`. A metrics store keeps a time series for each group, so there must be few. The names of locks are on
   * spans only. Default: no attribute.
   */
  group?: ((name: string) => string | undefined) | undefined;
  /**
   * The store to ask for the holder when a caller begins to wait, or a function that returns the store. The span of the
   * caller then links to the holder's span, if the holder acquired the lock with `meta: traceMeta()`. Costs one `query`
   * for each wait. Default: no links.
   */
  links?: QueryableStore | (() => QueryableStore) | undefined;
}

/** The options, checked and complete. */
export interface OtelSettings {
  readonly meter: OtelMeter | undefined;
  readonly tracer: OtelTracer | undefined;
  readonly group: ((name: string) => string | undefined) | undefined;
  readonly links: (() => QueryableStore) | undefined;
}

/** The name of the meter and the tracer. */
const SCOPE = "@holdfast/lock";

/** Checks the options, and completes them. */
export function checkOtelOptions(options: OtelOptions): OtelSettings {
  const { meter, tracer, group, links } = checkKeys(options, ["meter", "tracer", "group", "links"]);
  if (meter !== undefined) checkMethod("meter", meter, "createHistogram");
  if (tracer !== undefined) checkMethod("tracer", tracer, "startSpan");
  if (group !== undefined && typeof group !== "function") {
    throw new TypeError(`group must be a function: got ${show(group)}`);
  }
  if (links !== undefined && typeof links !== "function") checkMethod("links", links, "query");
  const asked = links === undefined || typeof links === "function" ? links : () => links;
  if (meter !== undefined || tracer !== undefined) return { meter, tracer, group, links: asked };
  const telemetry = denoTelemetry();
  if (telemetry === undefined) {
    throw new TypeError(
      `otel() needs a meter or a tracer in this runtime: pass { meter: metrics.getMeter("${SCOPE}"), ` +
        `tracer: trace.getTracer("${SCOPE}") } with metrics and trace of @opentelemetry/api`,
    );
  }
  return { ...instrumentation(telemetry, SCOPE), group, links: asked };
}

function checkMethod(option: string, value: unknown, method: string): void {
  if (typeof value !== "object" || value === null || typeof Reflect.get(value, method) !== "function") {
    throw new TypeError(`${option} must have the method ${method}: got ${show(value)}`);
  }
}
