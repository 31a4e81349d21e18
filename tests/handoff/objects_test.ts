// Deno only: it starts a server.
import { acquire, type Claim, type Store } from "@holdfast/lock";
import { cohort } from "@holdfast/lock/cohort";
import { denoKv } from "@holdfast/lock/deno-kv";
import { redis } from "@holdfast/lock/redis";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { HandoffStore } from "../../src/handoff/handoff_store.ts";
import { HandoffPlace } from "../../src/handoff/place.ts";
import { MemoryStore } from "../../src/stores/memory/store.ts";
import { SystemClock } from "../../src/time/clock.ts";
import { claimOf } from "../support/claims.ts";
import { Masters } from "../support/masters.ts";
import { RedisServer } from "../support/redis_server.ts";
import { until } from "../support/until.ts";
import { settled, VirtualClock } from "../support/virtual_clock.ts";
import { assertEndsAtOnce } from "./objects.ts";
import { Line, Scene, unheard } from "./scene.ts";

/** Longer than a test. */
const KEEP = 60_000;

Deno.test("steal and evict() end at once what any object of the same Redis client hands on", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  await assertEndsAtOnce([
    ["the client", client],
    ["redis()", redis(client)],
    ["redis() with an observer", redis(client, { observer() {} })],
    ["cohort()", cohort(client, { keep: KEEP })],
    ["a cohort of redis() with other options", cohort(redis(client), { keep: KEEP + 1, linger: 1 })],
  ], redis(client));
  assertEquals(await server.leftovers(), []);
});

Deno.test("evict() ends at once what any cohort of the same array of clients hands on", async () => {
  await using masters = await Masters.start(3);
  const clients = await masters.connect();
  const [one, two] = [cohort(clients, { keep: KEEP }), cohort(clients, { keep: KEEP + 1 })];
  await assertEndsAtOnce([["a cohort", one], ["another cohort", two]], one);
});

Deno.test("steal and evict() end at once what any object of the same Deno KV hands on", async () => {
  using kv = await Deno.openKv(":memory:");
  await assertEndsAtOnce([
    ["denoKv()", denoKv(kv)],
    ["another denoKv()", denoKv(kv)],
    ["a cohort of denoKv()", cohort(denoKv(kv), { keep: KEEP })],
  ], denoKv(kv));
});

Deno.test("steal ends at once what any object of the same custom store hands on", async () => {
  const custom = new Line(new MemoryStore(undefined, new SystemClock()));
  // It is not notified of a revocation.
  custom.notice = (notice) => notice.then((by) => by === undefined ? by : new Promise<never>(() => {}));
  const [one, two] = [cohort(custom, { keep: KEEP }), cohort(custom, { keep: KEEP + 1 })];
  await (await acquire(custom, "made")).release();
  await assertEndsAtOnce([["the store", custom, { evicts: false }], ["a cohort", one], ["another cohort", two]], one);
});

Deno.test("evict() ends nothing under another prefix of the same Redis client", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const [here, elsewhere] = [redis(client, { prefix: "a:" }), redis(client, { prefix: "b:" })];
  const made = cohort(here, { keep: KEEP });
  const first = await acquire(made, "a");
  const [second, third] = [acquire(made, "a"), acquire(made, "a")];
  await first.release();
  const holder = await second;
  const evicting = elsewhere.evict("a");
  await holder.release();
  const next = await third;
  assertEquals([await evicting, next.fence - holder.fence], [0, 1n], "handed on");
  await next.release();
  // As the key on the server says, it is the same lock.
  assertEquals((await redis(client, { prefix: "" }).query({ name: "a:a" })).held, []);
});

Deno.test("query() through any object of a client lists the handles of this process", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const made = cohort(client, { keep: KEEP });
  const first = await acquire(made, "a");
  const waiting = ["1", "2", "3"].map((job) => acquire(made, "a", { meta: { job } }));
  await until(async () => (await redis(client).query()).pending.length === 3, "they are listed");
  await first.release();
  await (await waiting[0]!).release();
  const holder = await waiting[1]!;
  for (const options of [{}, { name: "a" }, { match: "*" }]) {
    const { held, pending } = await redis(client).query(options);
    assertEquals(held.map(({ meta, fence }) => [meta?.["job"], fence]), [["2", holder.fence]]);
    assertEquals(pending.map(({ meta, rank }) => [meta?.["job"], rank]), [["3", 0]]);
    assertEquals((await redis(client, { prefix: "other:" }).query(options)).held, []);
  }
  // What is listed is evicted, and nobody else.
  const { held: [listed] } = await redis(client).query();
  assertEquals(await redis(client).evict("a", { handle: listed?.handle }), 1);
  await holder.release().catch(() => {});
  await (await waiting[2]!).release();
});

/** Attempts for a waiter, which is granted the lock. Resolves to the fence. */
async function turn(store: Store, claim: Claim): Promise<bigint> {
  const attempt = await store.attempt(claim, { enqueue: true });
  assert(attempt.granted, "granted");
  return attempt.fence;
}

/** One object of a process that hands a lock on, with two handles that want it; and another one, for a thief. */
async function twoObjects() {
  const scene = new Scene();
  const line = new Line(scene.server);
  const place = new HandoffPlace({});
  const here = new HandoffStore(new Line(scene.server), scene.clock, { keep: KEEP, linger: 0 }, place);
  const through = new HandoffStore(line, scene.clock, undefined, place);
  const [before, first, second, thief] = [claimOf("a"), claimOf("a"), claimOf("a"), claimOf("a")] as const;
  for (const claim of [before, first, second]) await here.attempt(claim, { enqueue: true });
  await here.release(before);
  await turn(here, first);
  const steal = () => through.attempt(thief, { enqueue: false, steal: true });
  return { scene, line, here, through, first, second, thief, steal };
}

Deno.test("steal whose reply is lost ends what other objects hand on", async () => {
  const { scene, line, here, through, first, second, thief, steal } = await twoObjects();
  line.fate = unheard;
  await assertRejects(steal, Error);
  assert(!await here.release(first), "the store has the last word");
  assert(!(await here.attempt(second, { enqueue: true })).granted, "the thief has it");
  line.fate = (go) => go();
  await through.release(thief);
  await turn(here, second);
  await here.release(second);
  await scene.clock.advance(1_000);
  await scene.assertEmpty();
});

Deno.test("steal answered after a minute asleep takes nothing from a later holder", async () => {
  const { scene, line, here, through, first, second, thief, steal } = await twoObjects();
  const answered = Promise.withResolvers<void>();
  line.fate = async (go) => {
    const reply = await go();
    await answered.promise;
    return reply;
  };
  const stealing = steal();
  scene.clock.stall(60_000);
  assert(!await here.release(first), "the store has the last word");
  const fence = await turn(here, second);
  answered.resolve();
  const stolen = await stealing;
  assert(stolen.granted && stolen.fence < fence, "its lease is over");
  assertEquals(await here.renew(second), "renewed");
  line.fate = (go) => go();
  assert(!await through.release(thief), "it has nothing");
  assert(await here.release(second), "it still has the lock");
  await scene.clock.advance(1_000);
  await scene.assertEmpty();
});

Deno.test("steal through one object and evict() through another cross each other", async () => {
  for (const order of ["in order", "in reverse order"]) {
    const { scene, line, here, through, first, second, thief, steal } = await twoObjects();
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let calls = 0;
    line.fate = async (go) => {
      const gate = gates[calls++];
      const reply = await go();
      await gate?.promise;
      return reply;
    };
    const revoking = [steal(), through.evict!("a")];
    for (const gate of order === "in order" ? gates : gates.reverse()) {
      gate.resolve();
      await settled();
    }
    await Promise.all(revoking);
    assert(!await here.release(first), "the store has the last word");
    const granted = (await here.attempt(second, { enqueue: true })).granted;
    assertEquals([await through.renew(thief), granted], ["lost", true], order);
    await through.release(thief);
    assert(await here.release(second), "the only holder");
    await scene.clock.advance(1_000);
    await scene.assertEmpty();
  }
});

Deno.test("HandoffPlace keeps nothing of objects that hand nothing on", async () => {
  const [clock, client] = [new VirtualClock(), {}];
  const server = new MemoryStore(undefined, clock);
  for (let i = 0; i < 3; i++) {
    const here = new HandoffStore(server, clock, undefined, new HandoffPlace(client));
    const [first, second] = [claimOf("a"), claimOf("a")];
    await here.attempt(first, { enqueue: true });
    await here.attempt(second, { enqueue: true });
    assertEquals(new HandoffPlace(client).sharing("a").length, 1);
    await here.release(first);
    await here.attempt(second, { enqueue: true });
    await here.release(second);
    await settled();
    assertEquals([new HandoffPlace(client).sharing("a"), [...new HandoffPlace(client).entries()]], [[], []]);
  }
});

Deno.test("HandoffPlace forgets waiters without callers of objects that are used no more", async () => {
  const [clock, client] = [new VirtualClock(), {}];
  const server = new MemoryStore(undefined, clock);
  const place = new HandoffPlace(client);
  const count = () => [...place.entries()].length;
  const leave = async (name: string) => {
    const here = new HandoffStore(server, clock, undefined, new HandoffPlace(client));
    for (const claim of [claimOf(name), claimOf(name)]) await here.attempt(claim, { enqueue: true });
  };
  for (let i = 0; i < 2_000; i++) await leave(`${i}`);
  assertEquals(count(), 2_000);
  await clock.advance(120_000);
  await leave("last");
  await settled();
  assert(count() <= 1, `${count()} are left`);
});
