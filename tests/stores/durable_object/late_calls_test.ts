import { assert, assertEquals, assertRejects } from "@std/assert";
import { SystemClock } from "../../../src/time/clock.ts";
import { releaseWithRetry } from "../../../src/contract/release.ts";
import { DurableObjectStore } from "../../../src/stores/durable_object/store.ts";
import { ask, claimOf, grant } from "../../support/claims.ts";
import { ObjectHost } from "./host.ts";

const NAME = "a";

function place() {
  const host = new ObjectHost();
  return { host, store: new DurableObjectStore(host, undefined, new SystemClock()) };
}

/** Loses the next request on its way. Returns what delivers it late, and resolves to the answer that nobody reads. */
function loseNext(host: ObjectHost): () => Promise<string> {
  let lost = "";
  host.onRequest = (body) => {
    host.onRequest = () => Promise.resolve();
    lost = body;
    return Promise.reject(Object.assign(new Error("the network connection was lost"), { retryable: true }));
  };
  return async () => await (await deliver(host, lost)).text();
}

function deliver(host: ObjectHost, body: string): Promise<Response> {
  return host.instance(NAME).fetch(new Request("https://lock/", { method: "POST", body }));
}

Deno.test("attempt() that comes after the release of its handle is granted nothing", async () => {
  const { host, store } = place();
  const claim = claimOf(NAME);
  const arrive = loseNext(host);
  await assertRejects(() => store.attempt(claim, { enqueue: true }), Error, "did not answer");
  assertEquals(await store.release(claim), false);
  assert((await arrive()).includes("was not executed"));
  await grant(store, claimOf(NAME));
});

Deno.test("attempt() after the release and an eviction of the object is granted nothing", async () => {
  const { host, store } = place();
  const claim = claimOf(NAME);
  const arrive = loseNext(host);
  await assertRejects(() => store.attempt(claim, { enqueue: true }), Error);
  await store.release(claim);
  host.evict();
  assert((await arrive()).includes("was not executed"));
  await grant(store, claimOf(NAME));
});

Deno.test("attempt() that steals and comes late does not take the lock from a later holder", async () => {
  const { host, store } = place();
  const [thief, next] = [claimOf(NAME), claimOf(NAME)];
  const arrive = loseNext(host);
  await assertRejects(() => store.attempt(thief, { enqueue: false, steal: true }), Error);
  await grant(store, thief, { steal: true });
  assertEquals(await store.evict(NAME), 1);
  await grant(store, next);
  assert((await arrive()).includes("was not executed"));
  assertEquals(await store.renew(next), "renewed");
});

Deno.test("attempt() that comes twice is one grant", async () => {
  const { host, store } = place();
  const claim = claimOf(NAME);
  await grant(store, claim);
  const again = await (await deliver(host, host.requests.at(-1)!)).text();
  assert(again.includes("was not executed"));
  assertEquals(await store.release(claim), true);
  await grant(store, claimOf(NAME));
});

Deno.test("attempt() that steals and comes twice does not take the lock from a later holder", async () => {
  const { host, store } = place();
  const [thief, next] = [claimOf(NAME), claimOf(NAME)];
  await grant(store, thief, { steal: true });
  const body = host.requests.at(-1)!;
  // The thief is told, and has nothing to release.
  assertEquals(await store.evict(NAME), 1);
  await grant(store, next);
  await deliver(host, body);
  assertEquals(await store.renew(next), "renewed");
});

Deno.test("release() that comes late leaves the lock that the handle was granted again", async () => {
  const { host, store } = place();
  const claim = claimOf(NAME);
  await grant(store, claim);
  const arrive = loseNext(host);
  await assertRejects(() => store.release(claim), Error);
  await grant(store, claim);
  await arrive();
  assertEquals(await store.renew(claim), "renewed");
});

Deno.test("succeed() that comes late does not move a handle that queues again", async () => {
  const { host, store } = place();
  const [held, from, to] = [claimOf(NAME), claimOf(NAME), claimOf(NAME)];
  await grant(store, held);
  await ask(store, from);
  const arrive = loseNext(host);
  await assertRejects(() => store.succeed(from, to), Error);
  await store.release(from);
  await ask(store, from);
  await arrive();
  await store.release(held);
  await grant(store, from);
});

Deno.test("calls of another store object of the process are no late ones", async () => {
  const host = new ObjectHost();
  const [one, other] = [0, 1].map(() => new DurableObjectStore(host, undefined, new SystemClock()));
  const claim = claimOf(NAME);
  for (let i = 0; i < 3; i++) await grant(one!, claim);
  await grant(other!, claim);
  assertEquals(await one!.release(claim), true);
});

Deno.test("release() that comes twice, unseen, has released the lock", async () => {
  const { host, store } = place();
  const [claim, next] = [claimOf(NAME), claimOf(NAME)];
  await grant(store, claim);
  host.onRequest = async (body) => {
    host.onRequest = () => Promise.resolve();
    await deliver(host, body);
    await grant(store, next);
  };
  // It is not known how it ended, and so it is released again.
  assertEquals(await releaseWithRetry(store, claim, new SystemClock()), true);
  assertEquals(await store.renew(next), "renewed");
});

Deno.test("evict() that comes twice evicts nobody who came after it", async () => {
  const { host, store } = place();
  const next = claimOf(NAME);
  await grant(store, claimOf(NAME));
  host.onRequest = async (body) => {
    host.onRequest = () => Promise.resolve();
    await deliver(host, body);
    host.evict();
    await grant(store, next);
  };
  await assertRejects(() => store.evict(NAME), Error, "was not executed");
  assertEquals(await store.renew(next), "renewed");
});

Deno.test("two evict() of a store that cross are both executed", async () => {
  const { host, store } = place();
  await grant(store, claimOf(NAME));
  let other: number | undefined;
  host.onRequest = async () => {
    host.onRequest = () => Promise.resolve();
    other = await store.evict(NAME);
  };
  assertEquals([await store.evict(NAME), other], [0, 1]);
});
