import { assert, assertEquals } from "@std/assert";
import { check } from "../../history/check.ts";
import type { Grant, History } from "../../history/history.ts";
import { ledger } from "./crew.ts";
import type { Fault } from "./fault.ts";
import { type Findings, outcome } from "./outcome.ts";
import { report } from "./report.ts";
import { Storm } from "./storm.ts";

function grant(owner: string, fence: bigint, start: number): Grant {
  return { lock: "a", owner, fence, start, end: start + 10, believed: start + 15, acted: start + 15 };
}

/** What is found in a history during which one fault happened, at 100. */
function findings(history: Partial<History>, fences = true): Findings {
  const storm = new Storm();
  const fault: Fault = { kind: "FLUSHALL", where: "servers", breach: true, inject: () => Promise.resolve(true) };
  storm.happenings.push({ fault, what: "FLUSHALL", start: 100, end: 101, over: true });
  const whole = { grants: [], releases: [], writes: [], breaches: storm.happenings, ...history };
  return {
    options: { deployment: "single", minutes: 1, seed: 7, workers: 4, fences, only: [] },
    ledger: ledger(),
    storm,
    history: whole,
    verdict: check(whole),
    left: { keys: [], connections: [] },
    skipped: ["disk full: no root"],
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

Deno.test("report() names the seed, the rule and the fault before, and what was skipped", () => {
  const text = report(outcome(findings({ grants: [grant("x", 2n, 110), grant("y", 1n, 150)] })));
  assert(text.includes("--deployment single --minutes 1 --seed 7\n"), text);
  assert(text.includes("Seed 7 fails:\n  fences rise: lock a"), text);
  assert(text.includes('60 ms after the beginning of "FLUSHALL"'), text);
  assert(/^violations +1$/m.test(text), text);
  assert(text.includes("skipped: disk full: no root"), text);
});

Deno.test("outcome() counts lost waiters, unhandled rejections, deaths and leaks as violations", () => {
  const found = findings({});
  found.ledger.lost.push({ lock: "a", start: 5 });
  found.ledger.unhandled.push("Error: oops");
  found.ledger.died.push("a worker process ended by itself");
  const left = { keys: ["lock:a"], connections: ["id=7"] };
  const { violations } = outcome({ ...found, left });
  assertEquals(violations, [
    "a waiter for lock a was lost; before any fault",
    "unhandled rejection: Error: oops",
    "a worker process ended by itself",
    "key left: lock:a",
    "connection left: id=7",
  ]);
});

Deno.test("outcome() without fences counts the updates that are lost, and does not call them violations", () => {
  const grants = [grant("x", 1n, 0), grant("y", 2n, 120)];
  const writes = [
    { lock: "a", fence: 2n, value: 1, accepted: true, at: 131 },
    { lock: "a", fence: 1n, value: 1, accepted: true, at: 140 },
  ];
  const { counts, violations } = outcome(findings({ grants, writes }, false));
  assertEquals(violations, []);
  assertEquals(counts.get("updates lost without the fence check"), 1);
  assertEquals(outcome(findings({ grants, writes })).violations.length, 2);
});
