import { assertEquals } from "@std/assert";
import { candidate, guess } from "../../../src/composed/redlock/fences.ts";

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
  for (const { highest, wall, expected } of cases) assertEquals(guess(highest, wall), expected);
});

Deno.test("candidate() is above every counter", () => {
  assertEquals(candidate([]), 1n);
  assertEquals(candidate([0n]), 1n);
  assertEquals(candidate([3n, 7n, 5n]), 8n);
  assertEquals(candidate([2n ** 60n, 2n ** 60n - 1n]), 2n ** 60n + 1n);
});
