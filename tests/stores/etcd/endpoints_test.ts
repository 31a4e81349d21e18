// Deno only: it starts servers.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { delay } from "@std/async";
import { acquire, StoreError, tryAcquire } from "@holdfast/lock";
import { EtcdEndpoints } from "../../../src/stores/etcd/endpoints.ts";
import { EtcdFault, type EtcdFaultKind } from "../../../src/stores/etcd/failures.ts";
import { EtcdCluster } from "../../support/etcd_server.ts";
import { replayed } from "../../support/replayed.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { counting } from "./counting.ts";
import { backendOf, test } from "./place.ts";
import { etcd } from "@holdfast/lock/etcd";

/** Asks members of which some fail, and returns which were asked. */
async function asked(endpoints: EtcdEndpoints, faults: Readonly<Record<string, EtcdFaultKind>>): Promise<string[]> {
  const urls: string[] = [];
  await endpoints.inTurn((url) => {
    urls.push(url);
    const kind = faults[url];
    return kind === undefined ? Promise.resolve() : Promise.reject(new EtcdFault(kind, "a fault"));
  }).catch(() => urls.push("failed"));
  return urls;
}

const URLS = ["a", "b", "c"];

/** Longer than the deaths and starts of several members take, in milliseconds. */
const LEASE = 300_000;

Deno.test("EtcdEndpoints asks the first member, for as long as it answers", async () => {
  const endpoints = new EtcdEndpoints(URLS, new VirtualClock());
  assertEquals([...await asked(endpoints, {}), ...await asked(endpoints, {})], ["a", "a"]);
});

Deno.test("EtcdEndpoints asks the next member at once where nothing was done, and stays", async () => {
  const endpoints = new EtcdEndpoints(URLS, new VirtualClock());
  assertEquals(await asked(endpoints, { a: "elsewhere", b: "elsewhere" }), ["a", "b", "c"]);
  assertEquals(await asked(endpoints, {}), ["c"]);
  assertEquals(await asked(endpoints, { c: "elsewhere" }), ["c", "a"]);
});

Deno.test("EtcdEndpoints asks each member once", async () => {
  const endpoints = new EtcdEndpoints(URLS, new VirtualClock());
  const faults = { a: "elsewhere", b: "elsewhere", c: "elsewhere" } as const;
  assertEquals(await asked(endpoints, faults), ["a", "b", "c", "failed"]);
});

Deno.test("EtcdEndpoints asks the next member with the next call after any other fault", async () => {
  const endpoints = new EtcdEndpoints(URLS, new VirtualClock());
  assertEquals(await asked(endpoints, { a: "unknown" }), ["a", "failed"]);
  assertEquals(await asked(endpoints, {}), ["b"]);
});

Deno.test("EtcdEndpoints stays with a member that refuses a call", async () => {
  const endpoints = new EtcdEndpoints(URLS, new VirtualClock());
  for (const kind of ["refused", "token"] as const) assertEquals(await asked(endpoints, { a: kind }), ["a", "failed"]);
  assertEquals(await asked(endpoints, {}), ["a"]);
});

Deno.test("EtcdEndpoints passes over a member that is slow, with the next call", async () => {
  const clock = new VirtualClock();
  const endpoints = new EtcdEndpoints(URLS, clock);
  const { promise, resolve } = Promise.withResolvers<string>();
  const slow = endpoints.inTurn(() => promise);
  await clock.advance(499);
  assertEquals(await asked(endpoints, {}), ["a"]);
  await clock.advance(1);
  assertEquals(await asked(endpoints, {}), ["b"]);
  resolve("an answer");
  assertEquals(await slow, "an answer");
  assertEquals([await asked(endpoints, {}), clock.pending], [["b"], 0]);
});

Deno.test("EtcdEndpoints stays where it is when a call to another member fails late", async () => {
  const endpoints = new EtcdEndpoints(URLS, new VirtualClock());
  const { promise, reject } = Promise.withResolvers<string>();
  const late = endpoints.inTurn(() => promise).catch(() => {});
  for (const url of ["a", "b"]) assertEquals(await asked(endpoints, { [url]: "unknown" }), [url, "failed"]);
  reject(new EtcdFault("unknown", "lost"));
  await late;
  assertEquals(await asked(endpoints, {}), ["c"]);
});

test("etcd() goes on with another member when one is killed, and finds no leader", async () => {
  await using cluster = await EtcdCluster.start();
  const [first, second, third] = cluster.members;
  // Without a leader for a moment the first member sends a call to the next one.
  await until(async () => {
    const { fetch, count } = counting();
    await backendOf({ endpoints: cluster.endpoints, fetch }).read("a").catch(() => {});
    return count(first!.url) === 1 && count(second!.url) === 0;
  }, "the first member alone is asked");
  const { fetch, count } = counting();
  const store = etcd({ endpoints: cluster.endpoints, fetch });
  await using lock = await acquire(store, "a", { lease: LEASE });
  await first!.kill();
  // Another one may have to be elected first.
  const extended = () => lock.extend(LEASE).then(() => true, () => false);
  await until(extended, "another member answers", HANG_MS);
  // Its turn comes again only if the others are slow.
  await until(
    async () => {
      const before = count(first!.url);
      return await extended() && await extended() && count(first!.url) === before;
    },
    "it answers twice, and the first one is not asked",
    HANG_MS,
  );
  await third!.kill();
  // One member alone finds out that it has no leader.
  let message = "";
  await until(
    async () => {
      ({ message } = await assertRejects(() => tryAcquire(store, "b", { lease: 2_000 }), StoreError));
      return message.includes("no leader");
    },
    "no member leads",
    HANG_MS,
  ).catch((error) => {
    throw new Error(`${error.message}: ${message}`);
  });
  await first!.start(cluster.members, "existing");
  await until(async () => (await store.query().catch(() => undefined)) !== undefined, "a majority is back", HANG_MS);
  assertEquals((await store.query()).held.map(({ name }) => name), ["a"], "b is not held");
});

test("EtcdBackend gives nothing that a member remembers while its leader is silent", async () => {
  await using cluster = await EtcdCluster.start();
  const leader = await cluster.leader();
  const [asked, other] = cluster.members.filter((member) => member !== leader);
  const backend = backendOf({ endpoints: [asked!.url] });
  await backend.write("a", "a document", "0");
  const answeredEarly = async () => {
    let isSilent = true;
    leader.freeze();
    other!.freeze();
    const calls = [backend.read("a"), backend.list(1), backend.timers.areOver(["a"])]
      .map((call: Promise<unknown>) => call.then(() => isSilent, () => false));
    await delay(300);
    isSilent = false;
    leader.thaw();
    other!.thaw();
    return await Promise.all(calls);
  };
  // On a busy machine a process stops somewhat later, and may answer before.
  await replayed(async () => {
    const early = await answeredEarly();
    return early.includes(true) ? `answered early: ${early}` : undefined;
  });
});

test("etcd() passes over a member that is frozen", async () => {
  await using cluster = await EtcdCluster.start();
  const [first] = cluster.members;
  const store = etcd({ endpoints: cluster.endpoints });
  await (await acquire(store, "a")).release();
  first!.freeze();
  try {
    const lock = await acquire(store, "a", { wait: HANG_MS });
    assert(lock.held);
    await lock.release();
  } finally {
    first!.thaw();
  }
});
