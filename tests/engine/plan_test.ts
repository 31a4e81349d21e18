import { assertEquals } from "@std/assert";
import { type Claim, StoreError } from "@holdfast/lock";
import { handleOf } from "@holdfast/lock/authors";
import { evict } from "../../src/engine/changes.ts";
import { LockDocument } from "../../src/engine/document.ts";
import type { WriteOptions } from "../../src/engine/mod.ts";
import { type Effect, type Need, noteWrite, planOf, settle, settleWritten } from "../../src/engine/plan.ts";
import { TURN_MS } from "../../src/engine/period.ts";
import type { Seen } from "../../src/engine/seen.ts";
import { giveTurn } from "../../src/engine/tidy.ts";
import type { ViewOptions } from "../../src/engine/view.ts";
import { drift } from "../../src/contract/store.ts";
import { ask, claimOf, grant, LONG } from "../support/claims.ts";
import { type ControlledBackend, NAME, Place } from "./controlled_backend.ts";
import { type Called, callOf, found, NOW, queueIn, viewOf, waitersOfMe } from "./views.ts";

/** Lets a backend tell those who watch of nothing but what a write says is news. */
function notifying(place: Place, backends: readonly ControlledBackend[]): void {
  const watching = new Set<() => void>();
  for (const backend of backends) {
    const { write } = backend;
    const notify: typeof write = async (key, value, version, options: WriteOptions) => {
      const result = await write(key, value, version, options);
      if (result.written && options.notify) { for (const tell of [...watching]) tell(); }
      return result;
    };
    const watch = (key: string, version: number, signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        const tell = () => {
          watching.delete(tell);
          signal.removeEventListener("abort", tell);
          resolve();
        };
        if (signal.aborted || place.documents.found(key).version !== version) return resolve();
        watching.add(tell);
        signal.addEventListener("abort", tell);
      });
    Object.assign(backend, { write: notify, watch });
  }
}

/**
 * A lock that is held and waited for twice, where the backends tell of news alone. Returns when the last one is woken.
 */
async function lastWoken(act: (place: Awaited<ReturnType<typeof queued>>) => Promise<void>) {
  const queue = await queued();
  const { place, c, second } = queue;
  const scope = new AbortController();
  let wokenAt: number | undefined;
  const asleep = c.store.wakeup(second, scope.signal).then(() => wokenAt = place.clock.now().monotonic);
  await place.clock.advance(100);
  assertEquals(wokenAt, undefined);
  const from = place.clock.now().monotonic;
  await act(queue);
  for (let i = 0; wokenAt === undefined && i < 600; i++) await place.clock.advance(10);
  scope.abort();
  await asleep;
  return wokenAt! - from;
}

async function queued() {
  const place = new Place({ ahead: 0 });
  const [a, b, c] = [place.connect(), place.connect(), place.connect()];
  notifying(place, [a.backend, b.backend, c.backend]);
  const [held, first, second] = [claimOf(NAME, "exclusive", LONG), claimOf(NAME), claimOf(NAME)];
  await grant(a.store, held);
  await ask(b.store, first);
  await ask(c.store, second);
  return { place, a, b, c, held, first, second };
}

Deno.test("planOf() notifies when a turn passes on from a waiter that gives up", async () => {
  const ms = await lastWoken(async ({ place, a, b, held, first }) => {
    await a.store.release(held);
    await place.clock.advance(0);
    await b.store.release(first);
  });
  assertEquals(ms, 0);
});

Deno.test("planOf() notifies when a turn passes on from a waiter that has died", async () => {
  const ms = await lastWoken(async ({ a, held }) => void await a.store.release(held));
  // After a turn, which the next one sees end.
  assertEquals(ms, 1_500);
});

Deno.test("planOf() notifies when the holder gives the lock up to the second of two", async () => {
  const ms = await lastWoken(async ({ a, b, held, first }) => {
    await b.store.release(first);
    await a.store.release(held);
  });
  assertEquals(ms, 0);
});

/** Returns a call whose answer needs something. */
function needing(needs: Need, effect: Partial<Effect<unknown>> = {}): Called {
  return callOf(() => ({ needs, answer: () => needs, ...effect }));
}

interface PlanOptions extends Pick<ViewOptions, "timerFor"> {
  readonly maxBytes?: number;
}

/** Plans calls so many milliseconds after a document was read. */
function planned(seen: Seen, called: readonly Called[], ms = 0, options: PlanOptions = {}) {
  const { timerFor, maxBytes = 1_000_000 } = options;
  return planOf(seen, called.map(({ call }) => call), viewOf(seen, ms, { timerFor }), waitersOfMe(), maxBytes);
}

Deno.test("planOf() needs what the call needs that needs most", () => {
  const needs = (...all: Need[]) => planned(found(), all.map((need) => needing(need))).needs;
  assertEquals([needs(), needs("seen"), needs("seen", "read")], ["seen", "seen", "read"]);
  assertEquals([needs("proof", "read"), needs("read", "write", "proof")], ["proof", "write"]);
});

Deno.test("planOf() needs a write for what is over, whatever the calls need", () => {
  const dead = claimOf(NAME);
  const held = (document: LockDocument) => void document.grant(dead, 1n, NOW.wall, []);
  const [alive, over] = [0, LONG].map((ms) => planned(found(held), [needing("seen")], ms));
  assertEquals([alive!.needs, alive!.document.holders.size], ["seen", 1]);
  assertEquals([over!.needs, over!.document.holders.size], ["write", 0]);
});

Deno.test("planOf() needs a write for a turn that it gives", () => {
  const first = claimOf(NAME);
  const plan = planned(found((document) => queueIn(document, first, "me")), [needing("seen")]);
  assertEquals([plan.needs, plan.notify, plan.document.turn?.handle], ["write", true, first.owner]);
});

Deno.test("planOf() applies calls one after the other, also behind one that fails", () => {
  const seen: number[] = [];
  const count = () =>
    callOf((document) => {
      seen.push(document.counter++);
      return { needs: "write", answer: (written) => written.counter };
    });
  const fault = new Error("full");
  const failing = callOf(() => {
    throw fault;
  });
  const called = [count(), failing, count()];
  const plan = planned(found(), called);
  settle(plan);
  assertEquals([seen, called.map(({ ends }) => ends)], [[0, 1], [[2], [fault], [2]]]);
});

Deno.test("planOf() answers what fails from a read, as it may rest on an old document", () => {
  const failing = callOf(() => {
    throw new Error("full");
  });
  assertEquals(planned(found(), [failing]).needs, "read");
});

Deno.test("planOf() tells a lease that may have ended since the server told its time", () => {
  const held = (document: LockDocument) => void document.grant(claimOf(NAME), 1n, NOW.wall, []);
  const over = (time?: number) => planned(found(held, time), []).mayBeOver;
  const end = NOW.wall + LONG;
  assertEquals([over(end - drift(0) - 1), over(end - drift(0)), over()], [false, true, false]);
});

Deno.test("planOf() notes the holders of all revocations in one write, and no earlier ones", () => {
  const [x, y] = [claimOf(NAME), claimOf(NAME)];
  const held = (document: LockDocument) => {
    for (const claim of [x, y]) document.grant({ ...claim, mode: "shared" }, 1n, NOW.wall, []);
    document.revoked = { handles: ["w"] };
  };
  const evicts = (claim: Claim, meta: string) => callOf(evict({ handle: handleOf(claim), meta }).apply);
  const { document } = planned(found(held), [evicts(x, "first"), evicts(y, "second")]);
  assertEquals(document.revoked, { handles: [handleOf(x), handleOf(y)], by: "second" });
  assertEquals(planned(found(held), []).document.revoked?.handles, ["w"]);
});

Deno.test("planOf() notifies of a revocation, not of a turn that stays or ends", () => {
  const waiting = claimOf(NAME);
  const turned = (document: LockDocument) => {
    queueIn(document, waiting, "me");
    giveTurn(document, NOW.wall);
  };
  const revokes = callOf((document) => {
    document.revoked = { handles: ["x"] };
    return { needs: "write", answer: () => {} };
  });
  const leaves = callOf((document) => ({ needs: "write", answer: () => document.dequeue(waiting) }));
  const dequeues = callOf((document) => {
    document.dequeue(waiting);
    return { needs: "write", answer: () => {} };
  });
  assertEquals(planned(found(), [revokes]).notify, true);
  assertEquals(planned(found(turned), [leaves]).notify, false);
  const plan = planned(found(turned), [dequeues]);
  assertEquals([plan.notify, plan.document.turn], [false, undefined]);
});

Deno.test("planOf() notifies when it passes a process over that had the turn", () => {
  const seen = found((document) => {
    queueIn(document, claimOf(NAME), "other");
    giveTurn(document, NOW.wall);
  });
  const plan = planned(seen, [], TURN_MS);
  assertEquals([plan.notify, plan.document.queue.length, plan.document.turn], [true, 0, undefined]);
});

Deno.test("planOf() names timers for what is old only where a call is blocked", () => {
  const held = (document: LockDocument) => void document.grant(claimOf(NAME), 1n, NOW.wall, []);
  const named = (blocked: boolean) => {
    const plan = planned(found(held), [needing("read", { blocked })], 0, { timerFor: () => "t" });
    return [plan.needs, ...Array.from(plan.document.holders.values(), ({ timer }) => timer)];
  };
  assertEquals([named(false), named(true)], [["read", undefined], ["write", "t"]]);
});

Deno.test("reserve() leaves room for holders, and takes what was reserved before", () => {
  const seen = found();
  const room = 10_000 - seen.bytes() - 4_096;
  const reserves = (...bytes: number[]) => {
    const called = bytes.map((each) =>
      callOf((_document, _view, { reserve }) => {
        reserve(each);
        return { needs: "seen", answer: () => "room" };
      })
    );
    settle(planned(found(), called, 0, { maxBytes: 10_000 }));
    return called.map(({ ends: [end] }) => end instanceof StoreError ? "full" : end);
  };
  assertEquals([reserves(room), reserves(room + 1)], [["room"], ["full"]]);
  assertEquals(reserves(room - 100, 101, 100), ["room", "full", "room"]);
});

Deno.test("admit() leaves room for the renewals of those that hold the lock", () => {
  const seen = found((document) => {
    for (let i = 0; i < 10; i++) document.grant(claimOf(NAME, "shared"), 1n, NOW.wall, []);
  });
  const admits = (maxBytes: number, timerFor?: () => undefined) => {
    const claim = claimOf(NAME, "shared");
    const called = callOf((_document, _view, { admit }) => {
      admit(claim);
      return { needs: "seen", answer: () => "room" };
    });
    settle(planned(seen, [called], 0, { maxBytes, timerFor }));
    const [end] = called.ends;
    return end instanceof StoreError ? "full" : end;
  };
  const claimBytes = JSON.stringify(claimOf(NAME, "shared")).length;
  const least = seen.bytes() + 1_024 + 11 * 40 + 200 + claimBytes;
  assertEquals([admits(least), admits(least - 1)], ["room", "full"]);
  // Where the server has timers each may get the name of one.
  const timerFor = () => undefined;
  assertEquals([admits(least + 11 * 50, timerFor), admits(least + 11 * 50 - 1, timerFor)], ["room", "full"]);
});

Deno.test("noteWrite() notes a write for all calls if one must not be executed twice", () => {
  for (const once of [false, true]) {
    const [called, other] = [needing("write"), needing("write", { once })];
    const plan = planned(found(), [called, other]);
    noteWrite(plan, () => "w1");
    assertEquals(plan.document.writes, once ? ["w1"] : []);
    assertEquals([called, other].map(({ call }) => call.sent.length), once ? [1, 1] : [0, 0]);
  }
});

Deno.test("settleWritten() answers a call whose write is found, from what it has written", () => {
  const [mine, later] = [
    callOf((document) => ({ needs: "write", once: true, answer: () => document.counter })),
    callOf(
      () => ({ needs: "seen", answer: () => "later" }),
    ),
  ];
  noteWrite(planned(found((document) => void (document.counter = 7)), [mine]), () => "w1");
  const present = new LockDocument();
  assertEquals(settleWritten([mine.call, later.call], present), [mine.call, later.call]);
  present.noteWrite("w1");
  assertEquals(settleWritten([mine.call, later.call], present), [later.call]);
  assertEquals([mine.ends, later.ends], [[7], []]);
});
