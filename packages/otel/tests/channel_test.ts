import { type LockEvent, withLock } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { otel } from "@holdfast/otel";
import { assertEquals } from "@std/assert";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { RecordingMeter } from "./recording.ts";

Deno.test("otel() observes every store of the process through the diagnostics channel", async () => {
  const meter = new RecordingMeter();
  const observe = otel({ meter });
  const listen = (message: unknown) => observe(message as LockEvent);
  subscribe("holdfast:lock", listen);
  for (const store of [memory(), memory()]) await withLock(store, "a", () => {});
  unsubscribe("holdfast:lock", listen);
  await withLock(memory(), "a", () => {});
  assertEquals(meter.of("hold.duration").length, 2);
});

Deno.test("otel() takes nothing off active for a lock that it has not seen begin", async () => {
  const meter = new RecordingMeter();
  const observe = otel({ meter });
  const listen = (message: unknown) => observe(message as LockEvent);
  await withLock(memory(), "a", () => subscribe("holdfast:lock", listen));
  unsubscribe("holdfast:lock", listen);
  assertEquals([meter.of("hold.duration").length, meter.of("active")], [1, []]);
});
