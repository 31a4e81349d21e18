import type { OtelSpanContext } from "./api.ts";

/** The form of the W3C recommendation "Trace Context". Later versions may append more fields. */
const FORM = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/;

/** Formats the identity of a span as a `traceparent`; `undefined` if it is none, as where nothing is traced. */
export function formatTraceparent({ traceId, spanId, traceFlags }: OtelSpanContext): string | undefined {
  const text = `00-${traceId}-${spanId}-${(traceFlags & 255).toString(16).padStart(2, "0")}`;
  return FORM.test(text) ? text : undefined;
}

/** Parses a `traceparent` that another process wrote; `undefined` if the text is none. */
export function parseTraceparent(text: string): OtelSpanContext | undefined {
  const [, traceId, spanId, flags] = FORM.exec(text) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, traceFlags: parseInt(flags, 16), isRemote: true };
}
