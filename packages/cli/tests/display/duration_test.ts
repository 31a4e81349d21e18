// Deno only: it makes a function of its text, as a browser does; workerd refuses to.
import { assertEquals } from "@std/assert";
import { showDuration } from "../../src/display/duration.ts";

Deno.test("showDuration() shows the one or two largest units", () => {
  // The script of the dashboard contains the text of the function.
  const alone = new Function(`return ${showDuration}`)();
  const expected: readonly (readonly [number, string])[] = [
    ...[[0, "0ms"], [-40, "0ms"], [999.4, "999ms"], [1_000, "1s"], [59_999, "59s"], [60_000, "1m"]] as const,
    ...[[200_000, "3m 20s"], [7_500_000, "2h 5m"], [86_399_999, "23h 59m"], [183_600_000, "2d 3h"]] as const,
  ];
  for (const [ms, text] of expected) assertEquals([showDuration(ms), alone(ms)], [text, text], `${ms}`);
});
