import { assertEquals } from "@std/assert";
import { DurableObjectStore } from "../../../src/stores/durable_object/store.ts";
import { ask, claimOf, grant } from "../../support/claims.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { ObjectHost } from "./host.ts";

const NAME = "a";

function place() {
  const clock = new VirtualClock();
  const host = new ObjectHost(clock);
  return { clock, host, store: new DurableObjectStore(host, undefined, clock) };
}

/** Returns what was asked, each as one word. */
function asked(host: ObjectHost): string[] {
  return host.requests.splice(0).map((body) => JSON.parse(body).do);
}

/** A lock that is held, and a waiter whose wait is held open. */
async function waiting() {
  const { clock, host, store } = place();
  const [held, waiter] = [claimOf(NAME, "exclusive", 30_000), claimOf(NAME)];
  await grant(store, held);
  await ask(store, waiter);
  asked(host);
  const scope = new AbortController();
  let woken = false;
  const over = store.wakeup(waiter, scope.signal).then(() => woken = true);
  await clock.advance(0);
  return { clock, host, store, held, waiter, scope, over, isWoken: () => woken };
}

Deno.test("wakeup() asks every 20 s, and is answered at once when the lock is released", async () => {
  const { clock, host, store, held, over, isWoken } = await waiting();
  await store.renew(held);
  await clock.advance(19_999);
  assertEquals(asked(host), ["wait", "renew"]);
  await clock.advance(1);
  assertEquals([asked(host), isWoken()], [["wait"], false]);
  await store.release(held);
  await over;
  assertEquals(asked(host), ["release"]);
});

Deno.test("wakeup() is answered when a lease is over, although nobody asks", async () => {
  const { clock, host, over, isWoken } = await waiting();
  await clock.advance(29_999);
  assertEquals(isWoken(), false);
  await clock.advance(100);
  await over;
  assertEquals(asked(host), ["wait", "wait"]);
});

Deno.test("wakeup() is answered at once by an object that does not know the waiter", async () => {
  const { clock, host, store } = place();
  await store.wakeup(claimOf(NAME), new AbortController().signal);
  assertEquals([asked(host), clock.pending], [["wait"], 0]);
});

Deno.test("attempt() of a waiter that was held open asks for no other before a minute", async () => {
  const { store, waiter, scope, over } = await waiting();
  scope.abort();
  await over;
  assertEquals(await ask(store, waiter), 60_000);
});

/** A lock that is held, and what has waiters enter its queue; `order` notes whom it was granted. */
async function queue() {
  const { clock, host, store } = place();
  const held = claimOf(NAME, "exclusive", 24 * 3_600_000);
  await grant(store, held);
  const order: string[] = [];
  const wait = async (who: string) => {
    const claim = { ...claimOf(NAME), owner: who };
    while (!(await store.attempt(claim, { enqueue: true })).granted) {
      await store.wakeup(claim, new AbortController().signal);
    }
    order.push(who);
    await store.release(claim);
  };
  const enter = async (who: string) => {
    void wait(who);
    await clock.advance(1_000);
  };
  return { clock, host, store, held, order, enter };
}

Deno.test("waiters keep their places for hours, also in an object that was started later", async () => {
  const { clock, host, store, held, order, enter } = await queue();
  for (const who of ["first", "second"]) await enter(who);
  host.evict();
  await clock.advance(1_000);
  await enter("third");
  await clock.advance(2 * 3_600_000);
  await store.release(held);
  await clock.advance(1_000);
  assertEquals(order, ["first", "second", "third"]);
});

Deno.test("a waiter behind one that has died keeps its place when the object is evicted", async () => {
  const { clock, host, store, held, order, enter } = await queue();
  await ask(store, claimOf(NAME));
  await enter("first");
  host.evict();
  await clock.advance(50);
  await enter("second");
  // The first one is further away: if it has to come back to its place, it comes too late.
  host.onRequest = (body) => body.includes('"first"') ? clock.sleep(200) : Promise.resolve();
  await store.release(held);
  await clock.advance(10_000);
  assertEquals(order, ["first", "second"]);
});

Deno.test("wakeup() ends in the object when its signal aborts", async () => {
  const { clock, scope, over } = await waiting();
  scope.abort();
  await over;
  await clock.advance(0);
  assertEquals(clock.pending, 0);
});

Deno.test("wakeup() and revocation() of a caller that is gone already are not held open", async () => {
  const { clock, host, store } = place();
  const [held, waiter] = [claimOf(NAME, "exclusive", 30_000), claimOf(NAME)];
  await grant(store, held);
  await ask(store, waiter);
  const before = clock.pending;
  for (const [what, claim, reply] of [["wait", waiter, false], ["watch", held, null]] as const) {
    const body = JSON.stringify({ holdfast: 1, do: what, claim });
    const answer = host.instance(NAME).fetch(
      new Request("https://lock/", { method: "POST", body, signal: AbortSignal.abort() }),
    );
    await clock.advance(0);
    assertEquals(clock.pending, before);
    assertEquals(await (await answer).json(), { holdfast: 1, reply });
  }
  await store.release(held);
});

Deno.test("release() of a waiter ends its wait in an object that is not told otherwise", async () => {
  const { clock, host, store } = place();
  const [held, waiter] = [claimOf(NAME, "exclusive", 30_000), claimOf(NAME)];
  await grant(store, held);
  await ask(store, waiter);
  const body = JSON.stringify({ holdfast: 1, do: "wait", claim: waiter });
  const reply = host.instance(NAME).fetch(new Request("https://lock/", { method: "POST", body }));
  await clock.advance(0);
  await store.release(waiter);
  assertEquals(await (await reply).json(), { holdfast: 1, reply: false });
  assertEquals(clock.pending, 0);
});

Deno.test("release() ends the watch of a holder in an object that is not told otherwise", async () => {
  const { clock, host, store } = place();
  const held = claimOf(NAME, "exclusive", 30_000);
  await grant(store, held);
  const before = clock.pending;
  const body = JSON.stringify({ holdfast: 1, do: "watch", claim: held });
  const reply = host.instance(NAME).fetch(new Request("https://lock/", { method: "POST", body }));
  await clock.advance(0);
  assertEquals(clock.pending > before, true);
  await store.release(held);
  assertEquals(await (await reply).json(), { holdfast: 1, reply: null });
});

Deno.test("attempt() of a waiter ends the later one of two waits, too", async () => {
  const { clock, host, store } = place();
  const [held, waiter] = [claimOf(NAME, "exclusive", 30_000), claimOf(NAME)];
  await grant(store, held);
  await ask(store, waiter);
  const body = JSON.stringify({ holdfast: 1, do: "wait", claim: waiter });
  const wait = () => host.instance(NAME).fetch(new Request("https://lock/", { method: "POST", body }));
  const [first, second] = [wait(), wait()];
  assertEquals(await (await first).json(), { holdfast: 1, reply: false });
  await clock.advance(0);
  await ask(store, waiter);
  assertEquals(await (await second).json(), { holdfast: 1, reply: false });
  await store.release(waiter);
  await store.release(held);
  assertEquals(clock.pending, 0);
});

Deno.test("attempt() of a waiter ends its wait, which does not disturb the next one", async () => {
  const { clock, host, store } = place();
  const [held, waiter] = [claimOf(NAME, "exclusive", 30_000), claimOf(NAME)];
  await grant(store, held);
  await ask(store, waiter);
  const wait = async () => {
    const body = JSON.stringify({ holdfast: 1, do: "wait", claim: waiter });
    const reply = host.instance(NAME).fetch(new Request("https://lock/", { method: "POST", body }));
    await clock.advance(0);
    return reply;
  };
  const first = wait();
  await clock.advance(0);
  await ask(store, waiter);
  const second = wait();
  assertEquals((await (await first).json()).reply, false);
  await clock.advance(10_000);
  await store.release(held);
  assertEquals((await (await second).json()).reply, true);
});

Deno.test("wakeup() ends after a pause when the object does not answer", async () => {
  const { clock, host, over, isWoken } = await waiting();
  host.evict();
  await clock.advance(0);
  assertEquals(isWoken(), false);
  await clock.advance(50);
  await over;
});

Deno.test("wakeup() pauses for longer each time", async () => {
  const { clock, host, store } = place();
  host.onRequest = () => Promise.reject(new Error("out of order"));
  const random = Math.random;
  Math.random = () => 1;
  try {
    const pauses = [];
    for (let i = 0; i < 8; i++) {
      const from = clock.now().monotonic;
      let over = false;
      store.wakeup(claimOf(NAME), new AbortController().signal).then(() => over = true);
      while (!over) await clock.advance(10);
      pauses.push(clock.now().monotonic - from);
    }
    assertEquals(pauses, [50, 100, 200, 400, 800, 1_600, 2_000, 2_000]);
  } finally {
    Math.random = random;
  }
});

Deno.test("wakeup() gives up a request that is not answered at all after 30 s", async () => {
  const { clock, host, store } = place();
  host.onRequest = () => new Promise(() => {});
  let over = false;
  store.wakeup(claimOf(NAME), new AbortController().signal).then(() => over = true);
  await clock.advance(29_999);
  assertEquals(over, false);
  await clock.advance(51);
  assertEquals(over, true);
});

Deno.test("revocation() asks every 20 s, and again after a fault", async () => {
  const { clock, host, store } = place();
  const held = claimOf(NAME, "exclusive", 600_000);
  await grant(store, held);
  asked(host);
  let by: unknown;
  store.revocation(held, new AbortController().signal).then((meta) => by = meta);
  await clock.advance(20_000);
  assertEquals(asked(host), ["watch", "watch"]);
  host.evict();
  await clock.advance(50);
  assertEquals([asked(host), by], [["watch"], undefined]);
  await store.evict(NAME, { meta: { who: "me" } });
  await clock.advance(0);
  assertEquals((by as { who: string }).who, "me");
  assertEquals(clock.pending, 0);
});

Deno.test("revocation() ends when its signal aborts", async () => {
  const { clock, store } = place();
  const held = claimOf(NAME);
  await grant(store, held);
  const scope = new AbortController();
  const over = store.revocation(held, scope.signal);
  await clock.advance(0);
  scope.abort();
  assertEquals(await over, undefined);
  await clock.advance(0);
  assertEquals(clock.pending, 0);
});
