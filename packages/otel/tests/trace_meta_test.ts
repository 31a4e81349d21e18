import { traceMeta } from "@holdfast/otel";
import { assertEquals } from "@std/assert";
import { parseTraceparent } from "../src/traceparent.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const SPAN_ID = "b7ad6b7169203331";

/** What knows an active span of that context. */
function active(traceId: string, spanId: string, traceFlags: number) {
  const spanContext = () => ({ traceId, spanId, traceFlags });
  return { getActiveSpan: () => ({ spanContext, addEvent: () => {}, setStatus: () => {}, end: () => {} }) };
}

Deno.test("traceMeta() returns the traceparent of the active span", () => {
  assertEquals(traceMeta(active(TRACE_ID, SPAN_ID, 1)), { traceparent: `00-${TRACE_ID}-${SPAN_ID}-01` });
  assertEquals(traceMeta(active(TRACE_ID, SPAN_ID, 0)), { traceparent: `00-${TRACE_ID}-${SPAN_ID}-00` });
});

Deno.test("traceMeta() returns nothing when no span is active, or recorded", () => {
  assertEquals(traceMeta({ getActiveSpan: () => undefined }), {});
  assertEquals(traceMeta(active("0".repeat(32), "0".repeat(16), 0)), {});
});

Deno.test("parseTraceparent() reads what traceMeta() writes, and a later version", () => {
  const span = { traceId: TRACE_ID, spanId: SPAN_ID, traceFlags: 1, isRemote: true };
  assertEquals(parseTraceparent(`00-${TRACE_ID}-${SPAN_ID}-01`), span);
  assertEquals(parseTraceparent(`01-${TRACE_ID}-${SPAN_ID}-01-what-comes-later`), span);
});

Deno.test("parseTraceparent() reads nothing else", () => {
  const wrong = [
    ...["", "00", `00-${TRACE_ID}-${SPAN_ID}`, `ff-${TRACE_ID}-${SPAN_ID}-01`, `00-${TRACE_ID}-${SPAN_ID}-01x`],
    ...[`00-${"0".repeat(32)}-${SPAN_ID}-01`, `00-${TRACE_ID}-${"0".repeat(16)}-01`, `00-${SPAN_ID}-${TRACE_ID}-01`],
    `00-${TRACE_ID.toUpperCase()}-${SPAN_ID}-01`,
  ];
  for (const text of wrong) assertEquals(parseTraceparent(text), undefined, text);
});
