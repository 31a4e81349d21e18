import { assertEquals } from "@std/assert";
import { VirtualClock } from "./virtual_clock.ts";

Deno.test("VirtualClock.advance() does not set the clock back after a stall past its end", async () => {
  const clock = new VirtualClock();
  const { monotonic, wall } = clock.now();
  clock.timer(5, () => clock.stall(100));
  await clock.advance(10);
  assertEquals(clock.now(), { monotonic: monotonic + 105, wall: wall + 105 });
});
