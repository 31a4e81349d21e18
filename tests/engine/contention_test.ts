import { assert, assertEquals } from "@std/assert";
import { StoreError } from "@holdfast/lock";
import { DocumentContention } from "../../src/engine/contention.ts";
import { LockDocument } from "../../src/engine/document.ts";
import type { DocumentChange, PendingCall } from "../../src/engine/plan.ts";
import { claimOf, LONG } from "../support/claims.ts";
import { VirtualClock } from "../support/virtual_clock.ts";
import { NAME } from "./controlled_backend.ts";
import { type Called, callOf, queueIn } from "./views.ts";

function called(changed: Partial<DocumentChange<unknown>> = {}): Called {
  return callOf(() => ({ needs: "write", answer: () => {} }), changed);
}

/** A lock whose calls are refused after no trip, and which of them went on, and when. */
function contended(random = 1) {
  const clock = new VirtualClock();
  const from = clock.now().monotonic;
  const wentOn: [ms: number, calls: readonly PendingCall[]][] = [];
  const contention = new DocumentContention(NAME, { clock, random: () => random }, (calls) => {
    wentOn.push([clock.now().monotonic - from, calls]);
  });
  const refuse = (all: readonly Called[], document = new LockDocument(), outdated = false) =>
    contention.refused(all.map(({ call }) => call), document, clock.now(), outdated);
  return { clock, contention, wentOn, refuse };
}

Deno.test("refused() lets a call write again at once that rested on an old document, once", () => {
  const { refuse, contention } = contended();
  const call = called();
  assertEquals(refuse([call], undefined, true), [call.call]);
  assertEquals([call.call.retries, contention.isPausing], [0, false]);
  assertEquals([refuse([call], undefined, true), contention.isPausing], [[], true]);
});

Deno.test("refused() pauses calls in their order, those that paused before first", async () => {
  const { clock, refuse, wentOn } = contended();
  const [first, second] = [called(), called()];
  assertEquals([refuse([first]), refuse([second])], [[], []]);
  await clock.advance(LONG);
  assertEquals(wentOn.map(([, calls]) => calls), [[first.call, second.call]]);
  assertEquals(clock.pending, 0);
});

Deno.test("refused() pauses for longer each time, until a write is accepted", async () => {
  const { clock, contention, refuse, wentOn } = contended();
  const call = called();
  for (const accepts of [false, false, true, false]) {
    if (accepts) contention.accepted();
    refuse([call]);
    await clock.advance(1_000);
  }
  const pauses = wentOn.map(([ms], i) => ms - i * 1_000);
  assert(pauses[1]! > pauses[0]!, `${pauses}`);
  assertEquals([pauses[2], pauses[3]], [pauses[0], pauses[1]]);
});

Deno.test("refused() lets urgent calls write at once 20 times, with those behind them", () => {
  const { refuse } = contended();
  const [urgent, passing, other] = [
    called({ isUrgent: () => true }),
    called({ isUrgent: () => true, passes: true }),
    called(),
  ];
  assertEquals(refuse([passing, other]), [passing.call]);
  assertEquals(refuse([urgent, other]), [urgent.call, other.call]);
  urgent.call.retries = 20;
  assertEquals(refuse([urgent, other]), []);
});

Deno.test("refused() lets the first ones pass after every fourth that has entered the queue", async () => {
  for (const entered of [3, 4]) {
    const { clock, contention, wentOn } = contended(0);
    const document = new LockDocument();
    for (let i = 0; i < entered; i++) queueIn(document, claimOf(NAME), "other");
    const sentAt = clock.now();
    clock.stall(100);
    const { call } = called();
    assertEquals(contention.refused([call], document, sentAt, true), entered === 3 ? [call] : []);
    await clock.advance(LONG);
    // After one and a half trips.
    assertEquals(wentOn, entered === 3 ? [] : [[250, [call]]]);
  }
});

Deno.test("resume() ends the pause", async () => {
  const { clock, contention, refuse, wentOn } = contended();
  const { call, ends } = called();
  refuse([{ call, ends }]);
  contention.resume();
  contention.resume();
  await clock.advance(LONG);
  assertEquals([wentOn, contention.isPausing, clock.pending], [[[0, [call]]], false, 0]);
});

Deno.test("patient() ends calls refused for 10 s, and tells waiters after 5 s to try again", () => {
  const { clock, contention, refuse } = contended();
  const [renewal, waiter, other] = [called(), called({ whenOutpaced: () => "again" }), called()];
  refuse([renewal, waiter]);
  const all = [renewal.call, waiter.call, other.call];
  clock.stall(5_000);
  assertEquals(contention.patient(all), all);
  clock.stall(1);
  assertEquals(contention.patient(all), [renewal.call, other.call]);
  clock.stall(5_000);
  assertEquals(contention.patient([renewal.call, other.call]), [other.call]);
  assertEquals([waiter.ends, renewal.ends[0] instanceof StoreError, other.ends], [["again"], true, []]);
});
