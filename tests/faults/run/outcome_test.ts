// Deno only: it tests a tool for Deno.
import { assert, assertEquals } from "@std/assert";
import { check } from "../../verification/history/check.ts";
import type { Grant, History } from "../../verification/history/history.ts";
import { Random } from "../../simulation/kernel/random.ts";
import { ledger } from "./crew.ts";
import type { Fault } from "./fault.ts";
import { type Findings, outcome } from "./outcome.ts";
import { report } from "./report.ts";
import { FaultSchedule } from "./fault_schedule.ts";
import { TRAITS } from "./redis/traits.ts";

function grant(owner: string, fence: bigint, start: number): Grant {
  return { lock: "a", owner, fence, start, end: start + 10, believed: start + 15, acted: start + 15 };
}

/** Returns what is found in a history during which one fault happened, at 100. */
function findings(history: Partial<History>, noFences = false): Findings {
  const schedule = new FaultSchedule();
  const fault: Fault = { kind: "FLUSHALL", where: "servers", breach: true, inject: () => Promise.resolve(true) };
  schedule.happenings.push({ fault, what: "FLUSHALL", start: 100, end: 101, over: true });
  const whole = { grants: [grant("x", 1n, 0)], releases: [], writes: [], breaches: schedule.happenings, ...history };
  return {
    options: {
      deployment: "single",
      client: undefined,
      minutes: 1,
      seed: 7,
      workers: 4,
      stores: 60,
      handoff: "default",
      noFences,
      only: [],
    },
    ledger: ledger(),
    schedule,
    history: whole,
    verdict: check(whole),
    stalls: [],
    began: 0,
    lease: 1_500,
    traits: TRAITS,
    left: { entries: [], connections: [] },
  };
}

Deno.test("outcome() of a run in which all went well has no violation", () => {
  const grants = [grant("x", 1n, 0), grant("y", 2n, 120)];
  const writes = [
    { lock: "a", fence: 1n, value: 1, accepted: true, at: 12 },
    { lock: "a", fence: 2n, value: 2, accepted: true, at: 131 },
    { lock: "a", fence: 1n, value: 2, accepted: false, at: 140 },
  ];
  const { counts, violations, sound } = outcome(findings({ grants, writes }));
  assertEquals(violations, []);
  assertEquals(counts.get("stale writes refused"), 1);
  assertEquals(counts.get("updates"), 2);
  assertEquals(counts.get("updates lost"), 0);
  assert(sound > 0.99 && sound < 1, `${sound}`);
});

Deno.test("outcome() counts the time of breaches that overlap once", () => {
  const breaches = [{ start: 20, end: 60, what: "a" }, { start: 40, end: 70, what: "b" }, {
    start: 50,
    end: 55,
    what: "c",
  }];
  const found = findings({ grants: [grant("x", 1n, 0), grant("y", 2n, 90)], breaches });
  assertEquals(outcome(found).sound, 0.5);
});

Deno.test("report() names the seed, the rule and the fault before", () => {
  const text = report(outcome(findings({ grants: [grant("x", 2n, 110), grant("y", 1n, 150)] })));
  assert(text.includes("--deployment single --minutes 1 --seed 7\n"), text);
  assert(text.includes("Seed 7 fails:\n  0.2 s: fences rise: lock a"), text);
  assert(text.includes('60 ms after the beginning of "FLUSHALL"'), text);
  assert(/^violations +1$/m.test(text), text);
});

Deno.test("outcome() counts lost waiters, rejections, deaths and leaks as violations", () => {
  const found = findings({});
  found.ledger.lost.push({ lock: "a", start: 5 });
  found.ledger.unhandled.push("Error: oops");
  found.ledger.died.push("a worker process ended by itself");
  const left = { entries: ["key lock:a"], connections: ["id=7"] };
  const { violations } = outcome({ ...found, left });
  assertEquals(violations, [
    "0.0 s: a waiter for lock a was lost; before any fault",
    "unhandled rejection: Error: oops",
    "a worker process ended by itself",
    "left: key lock:a",
    "connection left: id=7",
  ]);
});

Deno.test("outcome() without fences counts lost updates, but not as violations", () => {
  const grants = [grant("x", 1n, 0), grant("y", 2n, 120)];
  const writes = [
    { lock: "a", fence: 2n, value: 1, accepted: true, at: 131 },
    { lock: "a", fence: 1n, value: 1, accepted: true, at: 140 },
  ];
  const { counts, violations } = outcome(findings({ grants, writes }, true));
  assertEquals(violations, []);
  assertEquals(counts.get("updates lost without the fence check"), 1);
  assertEquals(outcome(findings({ grants, writes })).violations.length, 2);
});

Deno.test("outcome() counts locks believed for too long or restored on a node as violations", () => {
  const found = findings({});
  found.ledger.overdue.push({ lock: "a", at: 2_000, ms: 12.34 });
  found.ledger.putBack.push({ lock: "b", at: 1_000, node: 2 });
  found.ledger.unfounded.push({ lock: "c", at: 3_000 });
  const { violations } = outcome(found);
  assertEquals(violations, [
    '1.0 s: lock b was restored on node 2 after others had had it, and no majority had kept it; 900 ms after the beginning of "FLUSHALL"',
    '2.0 s: lock a was held 12.3 ms after the end of its lease; 1900 ms after the beginning of "FLUSHALL"',
    '3.0 s: lock c was held with a fence that the store had not granted; 2900 ms after the beginning of "FLUSHALL"',
  ]);
  const both = [{ ...grant("x", 1n, 110), believed: 140 }, grant("y", 2n, 120)];
  assertEquals(outcome(findings({ grants: both })).violations.length, 1);
});

Deno.test("outcome() counts only losses and leftovers without a fault as violations", () => {
  const end = { end: "aborted", unanswered: false, atOnce: undefined };
  const left = { lock: "a", ...end, from: 0, at: 0, held: true, gone: true };
  const count = (at: number, stalls: readonly { start: number; end: number }[] = []) => {
    const found = findings({
      grants: [grant("x", 1n, at)],
      releases: [{ lock: "a", owner: "x", start: at + 20, end: at + 30, outcome: "lost" }],
    });
    found.ledger.remains.push({ ...left, since: at, until: at + 600 });
    return outcome({ ...found, stalls }).violations.length;
  };
  // The fault was at 100, and has effects for a lease and a second.
  assertEquals(count(300), 0);
  assertEquals(count(10_000), 2);
  assertEquals(count(10_000, [{ start: 9_000, end: 9_500 }]), 0);
});

Deno.test("outcome() counts faults that could not be made to happen as violations", async () => {
  const found = findings({});
  const over = new AbortController();
  let due = 0;
  const fault: Fault = {
    kind: "rain",
    where: "servers",
    breach: false,
    inject() {
      // The last one has no chance.
      if (++due === 7) over.abort();
      return due === 1 ? Promise.reject(new Error("no clouds")) : Promise.resolve(false);
    },
  };
  await found.schedule.run([fault], new Random(1), over.signal);
  const { violations } = outcome(found);
  assertEquals(violations, [
    "a fault could not be made to happen: rain: no clouds",
    '"rain" was due 6 times, and could never happen',
  ]);
});

Deno.test("outcome() of a run without a fault, a lock or a handoff is a violation", () => {
  assertEquals(outcome(findings({ grants: [] })).violations, ["no lock was granted"]);
  const grants = Array.from({ length: 100 }, (_, i) => grant(`${i}`, BigInt(i), 100 * i));
  const many = findings({ grants });
  assertEquals(outcome(many).violations, ["no lock was handed on inside a process"]);
  assertEquals(outcome({ ...many, ledger: { ...many.ledger, handedOn: 1 } }).violations, []);
  assertEquals(outcome({ ...many, options: { ...many.options, handoff: "none" } }).violations, []);
  assertEquals(outcome({ ...many, traits: { ...TRAITS, runs: false } }).violations, []);
  const found = findings({ breaches: [] });
  found.schedule.happenings.length = 0;
  assertEquals(outcome(found).violations, ["no fault has happened"]);
  const options = { ...found.options, only: ["FLUSHALL", "clock set"] };
  assertEquals(outcome({ ...findings({}), options }).violations, ['"clock set" has not happened']);
});
