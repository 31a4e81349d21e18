import { assertEquals } from "@std/assert";
import { blockFrom, candidate, HighestFence } from "../../../src/redlock/attempt/fences.ts";

Deno.test("guess() is the clock in µs, or above whatever was seen", () => {
  const cases = [
    { highest: 0n, wall: 1_700_000_000_000, expected: 1_700_000_000_000_000n },
    { highest: 1_700_000_000_000_000n, wall: 1_700_000_000_000, expected: 1_700_000_000_000_001n },
    { highest: 1_800_000_000_000_000n, wall: 1_700_000_000_000, expected: 1_800_000_000_000_001n },
    { highest: 0n, wall: 1_700_000_000_000.25, expected: 1_700_000_000_000_250n },
    { highest: 0n, wall: 0.0009, expected: 1n },
    // Above 2^53, where numbers of another kind would lose it.
    { highest: 2n ** 53n, wall: 0, expected: 2n ** 53n + 1n },
  ];
  for (const { highest: seen, wall, expected } of cases) {
    const highest = new HighestFence();
    highest.note(seen);
    assertEquals(highest.guess(wall), expected);
  }
});

Deno.test("candidate() is above every counter", () => {
  assertEquals(candidate([]), 1n);
  assertEquals(candidate([0n]), 1n);
  assertEquals(candidate([3n, 7n, 5n]), 8n);
  assertEquals(candidate([2n ** 60n, 2n ** 60n - 1n]), 2n ** 60n + 1n);
});

Deno.test("blockFrom() has as many fences as wanted, up to 10 ms ahead of the clock", () => {
  const [wall, clock, maxClockSkew] = [1_700_000_000_000.5, 1_700_000_000_000_500n, 10_000];
  const cases = [
    { ahead: 0n, fences: undefined, got: 1n },
    { ahead: 0n, fences: 1, got: 1n },
    { ahead: 0n, fences: 2, got: 2n },
    { ahead: 0n, fences: 10_001, got: 10_001n },
    { ahead: 0n, fences: 10_002, got: 10_001n },
    { ahead: 9_000n, fences: 1_002, got: 1_001n },
    { ahead: 9_999n, fences: 1_000, got: 2n },
    // There is one at least, however far ahead.
    { ahead: 10_000n, fences: 1_000, got: 1n },
    { ahead: 60_000_000n, fences: 1_000, got: 1n },
    { ahead: -5_000n, fences: 1_000, got: 1_000n },
  ];
  for (const { ahead, fences, got } of cases) {
    const start = clock + ahead;
    assertEquals(blockFrom(start, wall, { fences, maxClockSkew }), { start, end: start + got - 1n });
  }
});

Deno.test("blockFrom() ends no further ahead than nodes with the same clock allow", () => {
  const start = 1_700_000_000_000_000n;
  for (const [maxClockSkew, got] of [[0, 1n], [1, 1_001n], [10, 10_001n], [11, 10_001n]] as const) {
    const block = blockFrom(start, 1_700_000_000_000, { fences: 20_000, maxClockSkew });
    assertEquals(block, { start, end: start + got - 1n }, `${maxClockSkew} ms`);
  }
});
