import { assertEquals } from "@std/assert";
import { Contention } from "../../../src/redlock/attempt/contention.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

Deno.test("Contention.isLikely() is true while handles hold a name or ask for it", () => {
  const contention = new Contention(new VirtualClock());
  const likely: boolean[] = [];
  const note = () => likely.push(contention.isLikely("a"));
  note();
  for (let i = 0; i < 3; i++) contention.add("a");
  contention.add("b");
  for (let i = 0; i < 3; i++) {
    note();
    contention.remove("a");
  }
  note();
  contention.add("a");
  note();
  contention.remove("a");
  note();
  assertEquals(likely, [false, true, true, true, false, true, false]);
  assertEquals(contention.isLikely("b"), true);
});

Deno.test("Contention.isLikely() is true for a second after the name was busy", () => {
  const clock = new VirtualClock();
  const contention = new Contention(clock);
  contention.noteBusy("a");
  clock.stall(600);
  contention.noteBusy("a");
  for (const [ms, likely] of [[0, true], [999, true], [1, false], [1, false]] as const) {
    clock.stall(ms);
    assertEquals(contention.isLikely("a"), likely);
  }
});

Deno.test("Contention.noteBusy() remembers a thousand names, those that were busy last", () => {
  const contention = new Contention(new VirtualClock());
  for (let i = 0; i < 2_000; i++) contention.noteBusy(`${i}`);
  assertEquals(contention.isLikely("0"), true);
  contention.noteBusy("0");
  contention.noteBusy("one more");
  const names = Array.from({ length: 2_000 }, (_, i) => `${i}`);
  assertEquals(names.filter((name) => !contention.isLikely(name)), names.slice(1, 1_001));
});
