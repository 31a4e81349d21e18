import { otel, type OtelOptions } from "@holdfast/otel";
import { assertEquals, assertThrows } from "@std/assert";
import { RecordingMeter, RecordingTracer } from "./recording.ts";

/** Runs as in a runtime without `Deno.telemetry`. */
function withoutTelemetry(run: () => void): void {
  const descriptor = Object.getOwnPropertyDescriptor(globalThis, "Deno")!;
  Object.defineProperty(globalThis, "Deno", { configurable: true, value: {} });
  try {
    run();
  } finally {
    Object.defineProperty(globalThis, "Deno", descriptor);
  }
}

Deno.test("otel() throws a TypeError for an option that is unknown or of the wrong kind", () => {
  const wrong: [options: object, message: string][] = [
    [{ metre: 1 }, "unknown option"],
    [{ meter: 1 }, "meter must have the method createHistogram"],
    [{ meter: new RecordingTracer() }, "meter must have the method createHistogram"],
    [{ tracer: new RecordingMeter() }, "tracer must have the method startSpan"],
    [{ group: "invoice" }, "group must be a function"],
    [{ links: "store" }, "links must have the method query"],
  ];
  for (const [options, message] of wrong) assertThrows(() => otel(options as OtelOptions), TypeError, message);
});

Deno.test("otel() throws a TypeError that says what to pass outside of Deno", () => {
  withoutTelemetry(() => {
    const { message } = assertThrows(() => otel(), TypeError);
    assertEquals(/metrics\.getMeter\(.*trace\.getTracer\(.*@opentelemetry\/api/.test(message), true, message);
  });
});

Deno.test("otel() makes only metrics of a meter, and only spans of a tracer", () => {
  withoutTelemetry(() => {
    const [meter, tracer] = [new RecordingMeter(), new RecordingTracer()];
    const subject = { name: "a", owner: "o", handle: "o", mode: "exclusive" } as const;
    for (const observer of [otel({ meter }), otel({ tracer })]) {
      observer({ ...subject, type: "acquired", fence: 1n, waited: 1 });
    }
    assertEquals([meter.of("active").length, tracer.spans.map(({ name }) => name)], [1, ["acquire", "hold"]]);
  });
});
