import { assert, assertEquals } from "@std/assert";
import { acquire, type Claim, type LockEvent } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { isObserved, notify } from "../../../src/internal/process/notify.ts";

const CHANNEL = "holdfast:lock";

/** Runs something, and returns what the channel has published of a name meanwhile. */
async function published(name: string, run: () => unknown): Promise<LockEvent[]> {
  const events: LockEvent[] = [];
  const note = (message: unknown) => {
    const event = message as LockEvent;
    if (event.name === name) events.push(event);
  };
  subscribe(CHANNEL, note);
  try {
    await run();
  } finally {
    unsubscribe(CHANNEL, note);
  }
  return events;
}

/** A claim that nothing may be read of. */
function unread(): Claim {
  const claim = { owner: "me", mode: "exclusive", lease: 1_000 } as const;
  return Object.defineProperty({ ...claim, name: "" }, "name", {
    get: () => {
      throw new Error("an event is made");
    },
  });
}

Deno.test("diagnostics publishes the events of every store to those who subscribe", async () => {
  const name = crypto.randomUUID();
  const own: LockEvent[] = [];
  const stores = [memory(), memory({ observer: (event) => void own.push(event) })];
  const events = await published(name, async () => {
    for (const store of stores) await (await acquire(store, name)).release();
  });
  assertEquals(events.map(({ type }) => type), ["acquired", "released", "acquired", "released"]);
  assertEquals(events.slice(2), own, "the observer of a store is notified as well");
});

Deno.test("diagnostics publishes the same event that the observer gets", async () => {
  const claim: Claim = { name: crypto.randomUUID(), owner: "me", mode: "exclusive", lease: 1_000 };
  let observed: LockEvent | undefined;
  const [event] = await published(claim.name, () => {
    notify({ observer: (event) => observed = event }, claim, { type: "waiting" });
  });
  assert(event !== undefined && event === observed, "one object");
});

Deno.test("diagnostics publishes an event also when the observer throws", async () => {
  const claim: Claim = { name: crypto.randomUUID(), owner: "me", mode: "exclusive", lease: 1_000 };
  const observer = () => {
    throw new Error("observer");
  };
  const events = await published(claim.name, () => notify({ observer }, claim, { type: "waiting" }));
  assertEquals(events.length, 1);
});

Deno.test("notify() makes no event when nobody is notified", async () => {
  assertEquals(isObserved({}), false);
  notify({}, unread(), { type: "waiting" });
  await published("", () => assertEquals(isObserved({}), true));
  assertEquals([isObserved({}), isObserved({ observer: () => {} })], [false, true]);
});
