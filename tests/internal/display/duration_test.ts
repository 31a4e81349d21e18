import { assertEquals } from "@std/assert";
import { showDuration } from "../../../src/internal/display/duration.ts";

Deno.test("showDuration() shows the one or two largest units", () => {
  const expected: [number, string][] = [
    ...[[0, "0ms"], [-40, "0ms"], [999.4, "999ms"], [1_000, "1s"], [59_999, "59s"]] as [number, string][],
    ...[[60_000, "1m"], [200_000, "3m 20s"], [7_500_000, "2h 5m"], [183_600_000, "2d 3h"]] as [number, string][],
  ];
  for (const [ms, text] of expected) assertEquals(showDuration(ms), text, `${ms}`);
});
