import { assertEquals } from "@std/assert";
import { HEARTBEAT_MS, Liveness } from "../../../../src/stores/sqlite/watch/liveness.ts";

/** A client that writes its signs of life on time, until a moment in milliseconds. */
function signed(liveness: Liveness, from: number, to: number, wallOffset = 0): void {
  for (let at = from; at <= to; at += HEARTBEAT_MS) liveness.heartbeat(instant(at, wallOffset));
}

function instant(ms: number, wallOffset = 0) {
  return { monotonic: ms, wall: 1_700_000_000_000 + ms + wallOffset };
}

Deno.test("Liveness.deadAfter() is longer for a client that has just come", () => {
  const liveness = new Liveness();
  assertEquals(liveness.deadAfter(instant(0)), 6_000);
  signed(liveness, 0, 2_750);
  assertEquals(liveness.deadAfter(instant(2_999)), 6_000);
  signed(liveness, 3_000, 3_000);
  assertEquals(liveness.deadAfter(instant(3_000)), 3_000);
  liveness.end();
  assertEquals(liveness.deadAfter(instant(3_100)), 6_000);
});

Deno.test("Liveness.deadAfter() is infinite after a gap, until 3 s without one", () => {
  for (const [monotonic, wall] of [[1_500, 1_500], [0, 3_600_000], [0, -3_600_000], [3_600_000, 3_600_000]] as const) {
    const liveness = new Liveness();
    signed(liveness, 0, 5_000);
    const offset = wall - monotonic;
    assertEquals(liveness.deadAfter(instant(5_000 + monotonic, offset)), Infinity, "before it has signed again");
    signed(liveness, 5_000 + monotonic, 7_750 + monotonic, offset);
    assertEquals(liveness.deadAfter(instant(7_999 + monotonic, offset)), Infinity);
    signed(liveness, 8_000 + monotonic, 8_000 + monotonic, offset);
    assertEquals(liveness.deadAfter(instant(8_000 + monotonic, offset)), 3_000);
  }
});

Deno.test("Liveness.deadAfter() takes up to a second between heartbeats for no gap", () => {
  const liveness = new Liveness();
  for (let at = 0; at <= 3_000; at += 1_000) liveness.heartbeat(instant(at));
  assertEquals(liveness.deadAfter(instant(4_000)), 3_000);
  assertEquals(liveness.deadAfter(instant(4_001)), Infinity);
  assertEquals(liveness.deadAfter(instant(3_000, -1_000)), 3_000);
  assertEquals(liveness.deadAfter(instant(3_000, -1_001)), Infinity);
  liveness.heartbeat(instant(4_001));
  assertEquals(liveness.deadAfter(instant(4_001)), Infinity);
  liveness.end();
  liveness.heartbeat(instant(9_000));
  assertEquals(liveness.deadAfter(instant(9_000)), 6_000, "it has come anew");
});
