import { assertEquals, assertThrows } from "@std/assert";
import { UsageError } from "../../src/command.ts";
import { parseDuration } from "../../src/locks/durations.ts";

Deno.test("parseDuration() reads milliseconds, with and without a unit", () => {
  const expected = { "0": 0, "250": 250, "500ms": 500, "1.5s": 1_500, "5s": 5_000, "2m": 120_000, "1h": 3_600_000 };
  for (const [text, ms] of Object.entries(expected)) assertEquals(parseDuration("lease", text), ms, text);
  assertEquals(parseDuration("lease", "7d"), 604_800_000);
});

Deno.test("parseDuration() names the option and quotes the value that is none", () => {
  for (const text of ["", "5 s", "5x", "-1", "s", "1e3", "Infinity", "1h30m", ".5s", "0x10"]) {
    const { message } = assertThrows(() => parseDuration("lease", text), UsageError);
    assertEquals(message.startsWith("--lease must ") && message.endsWith(text === "" ? '""' : text), true, message);
  }
});

Deno.test("parseDuration() refuses what is too short or too long for a timer", () => {
  assertThrows(() => parseDuration("interval", "49ms", 50), UsageError, "--interval must be from 50 ms");
  assertEquals(parseDuration("interval", "50ms", 50), 50);
  assertThrows(() => parseDuration("wait", "25d"), UsageError, "to 2147483647 ms: got 25d");
});
