import { acquire, type Meta } from "@holdfast/lock";
import { durableObject } from "@holdfast/lock/durable-object";
import { assert, assertEquals } from "@std/assert";
import { SystemClock } from "../../../src/time/clock.ts";
import { waiting } from "../../../packages/testing/src/expect.ts";
import { DurableObjectStore } from "../../../src/stores/durable_object/store.ts";
import { ask, claimOf, grant } from "../../support/claims.ts";
import { until } from "../../support/until.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { ObjectHost } from "./host.ts";

const NAME = "a";

function place() {
  const host = new ObjectHost();
  return { host, store: new DurableObjectStore(host, undefined, new SystemClock()) };
}

/** Returns how often the object was asked that. */
function asked(host: ObjectHost, what: string): number {
  return host.requests.filter((body) => JSON.parse(body).do === what).length;
}

Deno.test("a holder keeps its lock when the object is evicted from memory", async () => {
  const { host, store } = place();
  const claim = claimOf(NAME);
  await grant(store, claim);
  host.evict();
  await ask(store, claimOf(NAME), false);
  assertEquals(await store.renew(claim), "renewed");
  assertEquals(await store.release(claim), true);
});

Deno.test("fences rise when the object is evicted from memory", async () => {
  const { host, store } = place();
  let last = 0n;
  for (let i = 0; i < 5; i++) {
    const claim = claimOf(NAME);
    const fence = await grant(store, claim);
    assert(fence > last);
    last = fence;
    await store.release(claim);
    host.evict();
  }
});

Deno.test("waiters keep their places when the object is evicted from memory while they wait", async () => {
  const { host } = place();
  const holder = await acquire(durableObject(host), NAME);
  const order: number[] = [];
  const waiters: Promise<void>[] = [];
  const enter = async (i: number) => {
    const { lock, queued } = waiting(durableObject(host), NAME, {});
    waiters.push(lock.then(async (lock) => {
      order.push(i);
      await lock.release();
    }));
    await queued;
  };
  for (const i of [0, 1, 2]) await enter(i);
  await until(() => asked(host, "wait") >= 3, "all wait");
  host.evict();
  await enter(3);
  await holder.release();
  await Promise.all(waiters);
  assertEquals(order, [0, 1, 2, 3]);
});

Deno.test("a waiter that is gone when the object is evicted loses its turn", async () => {
  const { host, store } = place();
  const [held, dead, alive] = [claimOf(NAME), claimOf(NAME), claimOf(NAME)];
  await grant(store, held);
  await ask(store, dead);
  host.evict();
  await ask(store, alive);
  const served = acquire(durableObject(host), NAME);
  await store.release(alive);
  await store.release(held);
  await (await served).release();
});

Deno.test("dead waiters do not bar the lock where each call starts the object anew", async () => {
  const clock = new VirtualClock();
  const host = new ObjectHost(clock);
  const store = new DurableObjectStore(host, undefined, clock);
  const held = claimOf(NAME);
  await grant(store, held);
  for (let i = 0; i < 3; i++) await ask(store, claimOf(NAME));
  await store.release(held);
  // As a Worker that is run once a minute.
  host.evict();
  clock.stall(60_000);
  await grant(store, claimOf(NAME));
});

Deno.test("a waiter whose connection is gone loses its turn", async () => {
  const { host, store } = place();
  const [held, dead] = [claimOf(NAME), claimOf(NAME)];
  await grant(store, held);
  await ask(store, dead);
  const gone = new AbortController();
  const wait = store.wakeup(dead, gone.signal);
  const served = acquire(durableObject(host), NAME);
  await until(() => asked(host, "wait") >= 2, "both wait");
  gone.abort();
  await wait;
  await store.release(held);
  await (await served).release();
});

Deno.test("a revocation is told by an object that was started after it", async () => {
  const { host, store } = place();
  const claim = claimOf(NAME);
  await grant(store, claim);
  let by: Meta | undefined;
  store.revocation(claim, new AbortController().signal).then((meta) => by = meta ?? undefined);
  await until(() => asked(host, "watch") === 1, "it watches");
  const { onRequest } = host;
  // Until it has been revoked, the holder cannot ask again.
  const cut = Promise.withResolvers<void>();
  host.onRequest = (body) => JSON.parse(body).do === "watch" ? cut.promise : Promise.resolve();
  host.evict();
  await store.evict(NAME, { meta: { who: "an operator" } });
  host.evict();
  host.onRequest = onRequest;
  cut.resolve();
  await until(() => by !== undefined, "it is told");
  assertEquals(by?.["who"], "an operator");
});
