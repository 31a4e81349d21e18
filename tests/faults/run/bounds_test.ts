// Deno only: it tests a tool for Deno.
import { assertEquals } from "@std/assert";
import type { Grant, Release } from "../../verification/history/history.ts";
import { excesses, type Observed } from "./bounds.ts";
import { FaultTimes } from "./fault_times.ts";
import { TRAITS } from "./redis/traits.ts";
import type { Remains } from "./work.ts";

const LEASE = 1_500;

/** What is particular to a Cluster. */
const LATE = { ...TRAITS, executesLate: true };
const KEPT = { ...TRAITS, keepsTurns: true };

/** Returns what a run in which nothing happened came to, but for some of it. */
function observed(parts: Partial<Observed>, faultTimes = new FaultTimes([], 0)): Observed {
  const nothing = { grants: [], releases: [], remains: [], breaches: [], evictions: [] };
  return { ...nothing, trips: [1], lease: LEASE, kills: [], storesOf: () => 1, traits: TRAITS, faultTimes, ...parts };
}

function found(parts: Partial<Observed>, faultTimes?: FaultTimes): string[] {
  return excesses(observed(parts, faultTimes)).map(({ what }) => what);
}

function grant(owner: string, fence: bigint, start: number, end: number, believed: number): Grant {
  return { lock: "a", owner, fence, start, end, believed, acted: believed };
}

function release(owner: string, start: number, end: number, outcome: Release["outcome"] = "released"): Release {
  return { lock: "a", owner, start, end, outcome };
}

/** Returns what is found after an acquire that was over at 10,000. */
function remains(parts: Partial<Remains>): Remains {
  const since = 10_000;
  const times = { from: since - 5_000, since, at: since + 2, until: since + 2 };
  const end = { end: "released", unanswered: false, atOnce: false };
  return { lock: "a", ...end, held: true, gone: true, ...times, ...parts };
}

/** At work from 9,000 to 12,000. */
const FAULT = new FaultTimes([{ start: 9_000, end: 12_000 }], 0);

Deno.test("excesses() finds what is left after an answered release, unless data was lost", () => {
  const left = remains({ atOnce: true });
  const what = ["lock a was left after a release that was answered"];
  assertEquals(found({ remains: [left] }), what);
  assertEquals(found({ remains: [left] }, FAULT), what);
  assertEquals(found({ remains: [left], breaches: [{ start: 9_500, end: 9_900 }] }), []);
  assertEquals(found({ remains: [left], breaches: [{ start: 10_500, end: 10_900 }] }), what);
  assertEquals(found({ remains: [remains({})] }), []);
});

Deno.test("excesses() finds what an abandoned wait leaves for long, unless a fault acted", () => {
  const left = remains({ end: "aborted", atOnce: undefined, until: 11_500 });
  assertEquals(found({ remains: [left] }), ["lock a was left for 1500 ms after an acquire that ended: aborted"]);
  assertEquals(found({ remains: [left] }, FAULT), []);
  assertEquals(found({ remains: [{ ...left, until: 10_100 }] }), []);
  const never = { ...left, until: 26_000, gone: false };
  const nearly = new FaultTimes([{ start: 0, end: 25_900 }], 0);
  assertEquals(found({ remains: [never] }, nearly).length, 1);
  assertEquals(found({ remains: [never] }, new FaultTimes([{ start: 0, end: 1e9 }], 0)), []);
});

Deno.test("excesses() finds what is left of a waiter, unless its queue was evicted", () => {
  const left = remains({ atOnce: true, held: false, until: 26_000, gone: false });
  const what = ["lock a was left after a release that was answered"];
  const long = "lock a was left for 16000 ms after an acquire that ended: released";
  for (const [start, expected] of [[4_000, what], [6_000, []], [12_000, [`a place for ${long}`]]] as const) {
    const evictions = [{ start, end: start + 500 }];
    assertEquals(found({ remains: [left], breaches: evictions, evictions }), expected);
    assertEquals(
      found({ remains: [left], breaches: evictions }),
      start === 12_000 ? [`a place for ${long}`] : what,
      "other data loss",
    );
    const lock = { ...left, atOnce: false, held: true };
    assertEquals(found({ remains: [lock], breaches: evictions, evictions }), [long], "not only a waiter");
  }
});

Deno.test("excesses() allows a place until its waiter is dead if no release could reach it", () => {
  const left = remains({ end: "store", atOnce: undefined, held: false, until: 21_500 });
  const fault = (end: number) => new FaultTimes([{ start: 9_000, end }], 0);
  assertEquals(found({ remains: [left] }, fault(15_000)), []);
  const lock = "lock a was left for 11500 ms after an acquire that ended: store";
  const long = [`a place for ${lock}`];
  assertEquals(found({ remains: [left] }, fault(14_000)), long, "a try could reach it");
  assertEquals(found({ remains: [{ ...left, held: true }] }, fault(15_000)), [lock], "not a lock");
  assertEquals(found({ remains: [{ ...left, gone: false }] }, fault(15_000)), long, "not for ever");
  assertEquals(found({ remains: [{ ...left, until: 25_500 }] }, fault(15_000)).length, 1, "not for longer");
});

Deno.test("excesses() finds what is left of a waiter for ever, although data was lost", () => {
  const left = remains({ end: "timeout", atOnce: undefined, held: false, until: 26_000 });
  const breaches = [{ start: 9_500, end: 9_600 }];
  const lock = "lock a was left for 16000 ms after an acquire that ended: timeout";
  const long = [`a place for ${lock}`];
  assertEquals(found({ remains: [left], breaches }), []);
  assertEquals(found({ remains: [left] }), long);
  assertEquals(found({ remains: [{ ...left, held: true }], breaches }), [lock]);
  assertEquals(found({ remains: [{ ...left, gone: false }], breaches }), long);
});

Deno.test("excesses() allows a late attempt a lease, if the clients may send it late", () => {
  const left = remains({ unanswered: true, atOnce: true, until: 10_000 + LEASE });
  const what = ["lock a was left after a release that was answered"];
  assertEquals(found({ remains: [left], traits: LATE }), []);
  assertEquals(found({ remains: [left] }), what);
  assertEquals(found({ remains: [{ ...left, unanswered: false }], traits: LATE }), what);
  const longer = { ...left, until: left.until + 600 };
  assertEquals(found({ remains: [longer], traits: LATE }).length, 1);
});

Deno.test("excesses() allows a place in a crowd until its turn has come", () => {
  const left = remains({ end: "store", held: false, until: 29_000 });
  const storesOf = () => 15;
  assertEquals(found({ remains: [left], storesOf }), []);
  assertEquals(found({ remains: [{ ...left, until: 70_000 }], storesOf }).length, 1);
  for (const other of [{ held: true }, { gone: false }]) {
    assertEquals(found({ remains: [{ ...left, ...other }], storesOf }).length, 1);
  }
  assertEquals(found({ remains: [left] }).length, 1, "no crowd");
});

Deno.test("excesses() finds that nothing could be looked at", () => {
  const blind = Array.from({ length: 20 }, () => remains({ atOnce: undefined }));
  assertEquals(found({ remains: blind }), ["of 20 releases none could be looked at"]);
  assertEquals(found({ remains: blind.slice(1) }), []);
});

Deno.test("excesses() finds a lock that was lost although nothing had happened", () => {
  const grants = [grant("x", 1n, 5_000, 5_010, 12_000)];
  const releases = [release("x", 12_050, 12_060, "lost")];
  assertEquals(found({ grants, releases }), ["lock a was lost, and nothing had happened ()"]);
  assertEquals(found({ grants, releases }, FAULT), []);
  // Long ago: it has been renewed since.
  assertEquals(found({ grants, releases }, new FaultTimes([{ start: 9_000, end: 10_000 }], 0)).length, 1);
  assertEquals(found({ grants, releases: [release("x", 12_050, 12_060)] }), []);
});

Deno.test("excesses() finds a wait for a free lock, less what others and faults explain", () => {
  const long = grant("y", 2n, 1_000, 20_000, 20_000);
  const what = ["a waiter for lock a waited 19000 ms while nobody ahead of it had it"];
  assertEquals(found({ grants: [long] }), what);
  const [holder, later] = [grant("x", 1n, 0, 1_000, 15_000), grant("x", 1n, 1_001, 1_002, 19_999)];
  assertEquals(found({ grants: [later, long] }), what, "it is overtaken");
  const late = new FaultTimes([{ start: 900, end: 1_001 }], 0);
  assertEquals(found({ grants: [later, long] }, late), [], "their requests may have overtaken each other");
  const early = { ...long, start: 100 };
  assertEquals(found({ grants: [later, early] }, late), [], "their order may have been lost");
  assertEquals(found({ grants: [holder, long], releases: [release("x", 15_000, 15_001)] }), []);
  assertEquals(found({ grants: [long] }, new FaultTimes([{ start: 900, end: 15_000 }], 1_000)), []);
});

Deno.test("excesses() allows a free lock for dead waiters after a kill in a Cluster", () => {
  const grants = [grant("x", 1n, 0, 100, 200), grant("y", 2n, 100, 9_500, 9_600)];
  const releases = [release("x", 200, 210)];
  const kills = [{ start: 50, end: 60 }];
  assertEquals(found({ grants, releases, kills, traits: KEPT }), []);
  assertEquals(found({ grants, releases, kills, storesOf: () => 5 }), [], "five turns");
  for (const other of [{ kills }, { traits: KEPT }, { kills: [{ start: 9_000, end: 9_010 }], traits: KEPT }]) {
    const [what, ...more] = found({ grants, releases, ...other });
    assertEquals([/^a waiter for lock a waited \d+ ms while nobody ahead of it had it$/.test(what ?? ""), more], [
      true,
      [],
    ]);
  }
});

Deno.test("excesses() allows dead store objects one turn each, when their turns come", () => {
  const kills = [{ start: 50, end: 60 }];
  // Somebody has the lock for long after the kill: only then the turns come.
  const others = [grant("x", 1n, 0, 100, 60_000), grant("y", 2n, 100, 70_000, 70_100)];
  const releases = [release("x", 60_000, 60_010), release("y", 70_100, 70_110)];
  assertEquals(found({ grants: others, releases, kills, storesOf: () => 5 }), []);
  // They come once.
  const again = [...others, grant("z", 3n, 70_050, 80_000, 80_100)];
  const what = ["a waiter for lock a waited 9890 ms while nobody ahead of it had it"];
  assertEquals(found({ grants: again, releases, kills, storesOf: () => 5 }), what);
  const twice = [...kills, { start: 65_000, end: 65_010 }];
  assertEquals(found({ grants: again, releases, kills: twice, storesOf: () => 5 }), []);
});

Deno.test("excesses() finds handoffs that take much longer than trips to a server", () => {
  const turns = (gap: number) => {
    const grants = Array.from({ length: 30 }, (_, i) => {
      return grant(`${i}`, BigInt(i), 0, i * (gap + 10), i * (gap + 10) + 10);
    });
    const releases = grants.map(({ owner, believed }) => release(owner, believed, believed + 1));
    return { grants, releases };
  };
  assertEquals(found(turns(5)), []);
  assertEquals(found(turns(80)), ["the median handoff took 80 ms, more than 50 ms"]);
  assertEquals(found({ ...turns(80), trips: [4] }), [], "a slow machine");
  assertEquals(found(turns(80), new FaultTimes([{ start: 0, end: 1e9 }], 0)), []);
  const { grants, releases } = turns(5);
  // Few take very long: a wake-up that is lost costs as much as a poll.
  const late = grants.map((grant, i) => ({ ...grant, end: grant.end + (i % 10 === 9 ? 4_000 : 0) }));
  assertEquals(found({ grants: late, releases })[0]?.startsWith("the average handoff took"), true);
});
