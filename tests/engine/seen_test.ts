import { assertEquals } from "@std/assert";
import type { Instant } from "../../src/time/clock.ts";
import { LockDocument, type Turn } from "../../src/engine/document.ts";
import { leaseOf, periodOf } from "../../src/engine/period.ts";
import { bytesOf, Seen } from "../../src/engine/seen.ts";
import { claimOf, grant } from "../support/claims.ts";
import { NAME, Place } from "./controlled_backend.ts";
import { found, later, NOW } from "./views.ts";

const HELD = claimOf("a");

/** Returns what is seen where nothing is kept, by a reply that took so many milliseconds. */
function absent(time?: number, trip = 0): Seen {
  return new Seen(NAME, { value: undefined, version: 0, time }, { sentAt: NOW, receivedAt: later(trip) });
}

/** Returns what the reply to a request shows that took no time. */
function replacedAt(seen: Seen, ms: number, time?: number): Seen {
  return seen.replaced({ value: undefined, version: 1, time }, { sentAt: later(ms), receivedAt: later(ms) });
}

Deno.test("Seen is stale after 60 s by either clock, and once they are a second apart", () => {
  const seen = absent();
  const fresh = [later(0, 0), later(59_999, 59_999), later(5_000, 6_000), later(6_000, 5_000), later(0, -1_000)];
  const stale = [later(60_000, 59_500), later(59_500, 60_000), later(0, 1_001), later(1_001, 0), later(0, -1_001)];
  assertEquals(fresh.map((at) => seen.isStale(at)), fresh.map(() => false));
  assertEquals(stale.map((at) => seen.isStale(at)), stale.map(() => true));
});

Deno.test("Seen dates what it writes by the server's clock", () => {
  const time = 5_000_000;
  const seen = absent(time, 400);
  const now = later(10_000);
  const [at, least] = [seen.latest(now), seen.earliest(now)!];
  assertEquals([at >= time + 10_000, at < time + 10_200, least], [true, true, time + 9_600]);
  // A reply to a write that tells no time leaves the older one in its place, with its age.
  const written = replacedAt(seen, 5_000);
  assertEquals([written.version, written.latest(now)], [1, at]);
});

Deno.test("Seen dates by the wall clock where the server tells no time", () => {
  const seen = absent();
  const now = later(5_000, 4_000);
  assertEquals([seen.latest(now), seen.earliest(now)], [now.wall, undefined]);
});

Deno.test("latest() and earliest() age a time by the clock that has moved further", () => {
  const time = 5_000_000;
  const seen = absent(time);
  for (const now of [later(10_000, 0), later(0, 10_000)]) {
    assertEquals([seen.latest(now) >= time + 10_000, seen.earliest(now)], [true, time + 10_000]);
  }
});

Deno.test("replaced() takes the time of a reply that tells one, and dates it anew", () => {
  const seen = absent(5_000_000);
  const timed = replacedAt(seen, 5_000, 6_000_000);
  assertEquals([timed.time, timed.isStale(later(64_999, 64_999))], [6_000_000, false]);
  const untimed = replacedAt(seen, 5_000);
  assertEquals([untimed.time, untimed.isStale(later(60_000, 60_000))], [5_000_000, true]);
});

Deno.test("replaced() dates a reply anew where no server tells a time", () => {
  const seen = absent();
  const written = replacedAt(seen, 5_000);
  assertEquals([60_000, 64_999, 65_000].map((ms) => written.isStale(later(ms, ms))), [false, false, true]);
});

Deno.test("take() gives a document to change, which nobody looks at any more", () => {
  const seen = found((document) => void (document.counter = 7));
  const taken = seen.take();
  taken.counter = 8;
  assertEquals([taken.counter, seen.document.counter], [8, 7]);
});

Deno.test("isLongerThan() counts bytes of UTF-8", () => {
  for (const by of ["abc", "€€€"]) {
    const seen = found((document) => void (document.revoked = { handles: [], by }));
    const bytes = seen.bytes();
    assertEquals([seen.isLongerThan(bytes - 1), seen.isLongerThan(bytes)], [true, false]);
  }
  assertEquals([bytesOf("€€€"), absent().isLongerThan(0)], [9, false]);
});

/** Returns a document with a holder that was granted the lock with a fence, and perhaps a turn. */
function documentWith(fence: bigint, turn?: Turn) {
  const document = new LockDocument();
  const lease = leaseOf(document.grant(HELD, fence, 0, []));
  document.turn = turn;
  return { document, lease };
}

/** Returns what is seen when documents come at some moments, one after the other. */
function seenAt(...all: readonly (readonly [LockDocument, Instant])[]): Seen {
  return all.reduce<Seen | undefined>((before, [document, receivedAt], version) => {
    const trip = { sentAt: later(-9_000), receivedAt };
    return new Seen(NAME, { value: undefined, version }, trip, before, document);
  }, undefined)!;
}

Deno.test("seenFor() counts by the clock that has moved less, and never backward", () => {
  const { document, lease } = documentWith(1n);
  assertEquals(absent().seenFor(lease, later(500)), 0);
  const seen = seenAt([document, later(0)]);
  assertEquals([later(700, 900), later(900, 700), later(900, -100)].map((now) => seen.seenFor(lease, now)), [
    700,
    700,
    0,
  ]);
  // For how long it was seen up to one reply stays, whatever a clock does until the next one.
  const again = seenAt([document, later(0)], [document, later(900, 700)]);
  assertEquals([later(1_000, 100), later(1_000, 800)].map((now) => again.seenFor(lease, now)), [700, 800]);
});

Deno.test("seenFor() begins anew for what has changed, or was not there meanwhile", () => {
  const first = documentWith(1n);
  // The same beat in a document that was removed and made anew.
  const anew = documentWith(2n);
  assertEquals(seenAt([first.document, later(0)]).seenFor(anew.lease, later(5_000)), 0);
  const seen = seenAt([first.document, later(0)], [anew.document, later(5_000)]);
  assertEquals([first, anew].map(({ lease }) => seen.seenFor(lease, later(6_000))), [0, 1_000]);
  const gone = seenAt([anew.document, later(5_000)], [new LockDocument(), later(6_000)]);
  assertEquals(gone.seenFor(anew.lease, later(7_000)), 0);
});

Deno.test("seenFor() tells the turn of one waiter from that of another", () => {
  const [mine, other] = ["x", "y"].map((handle) => ({ handle, number: 7, since: 0 }));
  const seen = seenAt([documentWith(1n, mine).document, later(0)]);
  assertEquals([mine!, other!].map((turn) => seen.seenFor(periodOf(turn), later(100))), [100, 0]);
});

Deno.test("ageAtMost() takes what was there when it first looked for as old as can be", () => {
  const { document, lease } = documentWith(1n);
  assertEquals(absent().ageAtMost(lease, later(500)), 0);
  assertEquals(seenAt([document, later(0)]).ageAtMost(lease, later(100)), Infinity);
});

Deno.test("ageAtMost() takes what came later for no older than the reply before", () => {
  const { document, lease } = documentWith(1n);
  const seen = seenAt([new LockDocument(), later(0)], [document, later(400, 300)]);
  const ages = [later(500), later(1_000, 500), later(500, 1_000)].map((now) => seen.ageAtMost(lease, now));
  assertEquals(ages, [600, 1_000, 1_100]);
  // Another reply makes it no younger.
  const again = seenAt([new LockDocument(), later(0)], [document, later(400, 300)], [document, later(900, 800)]);
  assertEquals(again.ageAtMost(lease, later(1_000, 900)), 1_000);
});

for (const ms of [30_000, -30_000]) {
  Deno.test(`change() declares no lease over while its clock is set by ${ms / 1_000} s`, async () => {
    const place = new Place();
    const [{ store }, other] = [place.connect(), place.connect()];
    await grant(store, claimOf(NAME, "exclusive", 10_000));
    // Set while the read is on its way, by more than two clocks may be apart.
    other.backend.onRead = async (execute) => {
      const found = await execute();
      place.clock.setWall(ms);
      return found;
    };
    const attempt = await other.store.attempt(claimOf(NAME), { enqueue: false });
    assertEquals(attempt.granted, false);
  });
}
