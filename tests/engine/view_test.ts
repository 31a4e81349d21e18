import { assertEquals } from "@std/assert";
import { leaseOf, periodOf, TURN_MS } from "../../src/engine/period.ts";
import { claimOf } from "../support/claims.ts";
import { NAME } from "./controlled_backend.ts";
import { found, later, NOW, viewOf } from "./views.ts";
import { Seen } from "../../src/engine/seen.ts";

const LEASE = 10_000;

/** Returns what is seen of a holder that was granted the lock just before, and its lease. */
function held(time?: number, timer?: string) {
  const seen = found((document) => {
    Object.assign(document.grant(claimOf(NAME, "exclusive", LEASE), 1n, time ?? NOW.wall, []), { timer });
  }, time);
  return { seen, lease: leaseOf([...seen.document.holders.values()][0]!) };
}

Deno.test("left() counts what was seen where no server tells time, and no clock", () => {
  const { seen, lease } = held();
  assertEquals([0, 4_000, LEASE].map((ms) => viewOf(seen, ms).left(lease)), [LEASE, 6_000, 0]);
});

Deno.test("left() lets a caller that cannot watch go by the written end and the skew", () => {
  const { seen, lease } = held();
  const left = (ms: number, skew: number) =>
    viewOf(seen, ms, { cannotWatch: true, skew }).left({ ...lease, number: 99 });
  assertEquals([left(4_000, 500), left(LEASE, 500), left(LEASE + 500, 500)], [6_500, 500, 0]);
  assertEquals(left(LEASE + 500, Infinity), LEASE);
});

Deno.test("left() goes by the server's clock, or what was seen, whichever ends first", () => {
  const time = 5_000_000;
  const { seen, lease } = held(time);
  // It told its time when it answered: the age of that does not count.
  assertEquals([viewOf(seen, 0).left(lease), viewOf(seen, 4_000).left(lease)], [LEASE, 6_000]);
  assertEquals(viewOf(seen, 0, { time: time + 9_000 }).left(lease), 1_000);
  assertEquals(viewOf(seen, 0, { time: time + 9_000, skew: 500 }).left(lease), 1_500);
  // Set back since: what was seen for the whole lease is over.
  assertEquals(viewOf(seen, LEASE, { time: time - LEASE }).left(lease), 0);
});

Deno.test("left() of a turn goes by the same rules", () => {
  const turn = periodOf({ handle: "x", number: 1, since: NOW.wall });
  const { seen } = held();
  assertEquals(viewOf(seen, 100).left(turn), TURN_MS);
  assertEquals(viewOf(seen, 100, { cannotWatch: true }).left(turn), TURN_MS - 100);
});

Deno.test("left() is over with its timer, and only if the server has said so", () => {
  const { seen, lease } = held(undefined, "t");
  const left = (...answers: [string, boolean | undefined][]) =>
    viewOf(seen, 0, { answers: new Map(answers) }).left(lease);
  assertEquals([left(), left(["t", false]), left(["t", undefined]), left(["u", true])], Array(4).fill(LEASE));
  assertEquals(left(["t", true]), 0);
});

Deno.test("isOld() is true of what may have been there for its whole length", () => {
  const first = held();
  assertEquals(viewOf(first.seen).isOld(first.lease), true);
  const trip = { sentAt: NOW, receivedAt: NOW };
  const before = new Seen(NAME, { value: undefined, version: 0 }, trip);
  const { seen: { document } } = first;
  const seen = new Seen(
    NAME,
    { value: undefined, version: 1 },
    { ...trip, receivedAt: later(1_000) },
    before,
    document,
  );
  assertEquals([LEASE - 1, LEASE].map((ms) => viewOf(seen, ms).isOld(first.lease)), [false, true]);
});

Deno.test("timerOf() leaves out a timer that the server knows nothing of", () => {
  const { seen, lease } = held(undefined, "t");
  const timer = (...answers: [string, boolean | undefined][]) =>
    viewOf(seen, 0, { answers: new Map(answers) }).timerOf(lease);
  assertEquals([timer(), timer(["t", true]), timer(["t", false]), timer(["t", undefined])], ["t", "t", "t", undefined]);
});
