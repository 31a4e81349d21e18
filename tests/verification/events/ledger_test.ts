import { assertEquals } from "@std/assert";
import { type LockEvent, LockLostError } from "@holdfast/lock";
import { EventLedger, type Outcome } from "./ledger.ts";

const WHO = { name: "a", owner: "me", handle: "me", mode: "exclusive", permits: undefined } as const;
const error = new Error("down");
const loss = new LockLostError("lost");

const waiting: LockEvent = { ...WHO, type: "waiting" };
const fault: LockEvent = { ...WHO, type: "fault", operation: "attempt", error };
const acquired: LockEvent = { ...WHO, type: "acquired", fence: 7n, waited: 5 };
const renewed: LockEvent = { ...WHO, type: "renewed", remaining: 100 };
const released: LockEvent = { ...WHO, type: "released", fence: 7n, held: 3 };
const lost: LockEvent = { ...WHO, type: "lost", reason: "expired", fence: 7n, held: 3, error: loss };
const gaveUp: LockEvent = { ...WHO, type: "gave_up", reason: "store", waited: 5, error };
const busy: LockEvent = { ...WHO, type: "gave_up", reason: "busy", waited: 5, error: undefined };

const held: Outcome = { fence: 7n, released: "resolved" };
const left: Outcome = { fence: 7n, released: undefined };

/** Returns the problems of one call with these events, without the types. */
function problemsOf(events: readonly LockEvent[], outcome?: Outcome): string[] {
  const ledger = new EventLedger();
  for (const event of events) ledger.observer(event);
  if (outcome !== undefined) ledger.settled("me", outcome);
  return ledger.problems().map((problem) => problem.replace(/^[^:]*: /, ""));
}

Deno.test("EventLedger.problems() finds none in the events of a call", () => {
  const calls: [LockEvent[], Outcome][] = [
    [[acquired, released], held],
    [[waiting, fault, acquired, fault, renewed, released], held],
    [[acquired, lost, fault], left],
    [[acquired, lost], { fence: 7n, released: { error: loss } }],
    [[acquired, fault], { fence: 7n, released: { error } }],
    [[acquired, fault, released], { fence: 7n, released: { error } }],
    [[fault, waiting, gaveUp, fault], { error }],
    [[busy], { busy: true }],
  ];
  for (const [events, outcome] of calls) assertEquals(problemsOf(events, outcome), []);
});

Deno.test("EventLedger.problems() finds each call that has other events", () => {
  const calls: [LockEvent[], Outcome | undefined, string][] = [
    [[], held, "a call ends in one acquired or gave_up"],
    [[waiting], { error }, "a call ends in one acquired or gave_up"],
    [[gaveUp, gaveUp], { error }, "a call ends in one acquired or gave_up"],
    [[acquired, acquired, released], held, "a call ends in one acquired or gave_up"],
    [[waiting, waiting, acquired, released], held, "it waits once, before its end"],
    [[acquired, waiting, released], held, "it waits once, before its end"],
    [[acquired, lost, released], held, "a lock is released or lost, once"],
    [[acquired, released, released], held, "a lock is released or lost, once"],
    [[released, acquired], held, "a lock is acquired before that"],
    [[acquired, released, renewed], held, "it is not renewed after that"],
    [[acquired, { ...released, handle: "me", owner: "you" }], held, "all are about one handle"],
    [[acquired, { ...released, held: -1 }], held, "no time is negative"],
    [[acquired, released], undefined, "of a handle that nobody has asked for: me"],
    [[gaveUp], held, "its caller has the lock"],
    [[gaveUp], { busy: true }, "its caller was told: busy"],
    [[busy], { error }, "its caller got another error"],
    [[gaveUp], { error: loss }, "its caller got another error"],
    [[acquired, released], { error }, "its caller does not have the lock"],
    [[acquired, { ...released, fence: 8n }], held, "its caller has another fence"],
    [[acquired], held, "its caller has released the lock"],
    [[acquired, lost], held, "its caller has released the lock"],
    [[acquired], left, "its caller has lost the lock"],
    [[acquired, released], { fence: 7n, released: { error: loss } }, "its caller has lost the lock"],
    [[acquired, lost], { fence: 7n, released: { error: new LockLostError("again") } }, "its caller got another loss"],
  ];
  for (const [events, outcome, problem] of calls) assertEquals(problemsOf(events, outcome), [problem]);
});
