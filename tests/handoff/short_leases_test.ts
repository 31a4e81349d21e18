import { assert, assertEquals, assertRejects } from "@std/assert";
import { LockLostError } from "../../src/contract/errors.ts";
import { claimOf } from "../support/claims.ts";
import { settled } from "../support/virtual_clock.ts";
import { type Fate, type Process, Scene, sleeps } from "./scene.ts";

/** How long the answer to an attempt takes that is slow, in milliseconds. */
const SLOW_MS = 730;

/** A lease that ends before such an answer has come twice. */
const SHORT_MS = 1_000;

/** Makes the answer to the next attempt slow, and answers the others as `fate` does. */
function slowAnswer({ line }: Process, { clock }: Scene, fate: Fate = (go) => go()): void {
  line.fate = async (go, call) => {
    if (call.operation !== "attempt") return await go();
    line.fate = fate;
    const reply = await fate(go, call);
    await clock.sleep(SLOW_MS);
    return reply;
  };
}

/** A process whose first waiter asks for the lock, which is free, and gets a slow answer. */
async function slowLeader() {
  const scene = new Scene();
  const here = scene.process({ keep: 10 });
  const direct = await here.acquire();
  const { end } = await here.section("leader", 1);
  slowAnswer(here, scene);
  await direct.release();
  return { scene, here, end };
}

Deno.test("acquire() is woken when its lease is too short to be handed the lock", async () => {
  const { scene, here, end } = await slowLeader();
  const { clock, served } = scene;
  await clock.advance(SLOW_MS - 20);
  // One at a time asks, so this one sleeps.
  const short = await here.section("short", 1, { lease: SHORT_MS });
  await clock.advance(22);
  assertEquals(served, ["leader", "short"]);
  await Promise.all([end, short.end, clock.advance(1)]);
  await scene.assertEmpty();
});

Deno.test("acquire() is woken when the lease of the one that asks is too short", async () => {
  const scene = new Scene();
  const { clock, rival, served } = scene;
  const here = scene.process({ keep: 10 });
  const before = await rival.acquire();
  const sections = [await here.section("short", 1, { lease: SHORT_MS })];
  slowAnswer(here, scene);
  sections.push(await here.section("long", 1));
  // The first one polls, for both of them.
  const asked = () => here.line.calls.some(({ claim }) => claim?.lease !== SHORT_MS);
  const polled = here.line.calls.length;
  while (here.line.calls.length === polled) await clock.advance(1);
  assert(!asked());
  await clock.advance(SLOW_MS);
  assert(asked());
  await before.release();
  await Promise.all([...sections.map(({ end }) => end), clock.advance(100)]);
  assertEquals(served, ["short", "long"]);
  await scene.assertEmpty();
});

Deno.test("acquire() of a member with a short lease is woken when it is passed over", async () => {
  for (const more of [[], ["third"]]) {
    const scene = new Scene();
    const { clock, rival, served } = scene;
    const here = scene.process();
    const before = await rival.acquire();
    here.line.fate = sleeps;
    const ends = [(await here.section("first", 1)).end];
    const short = await here.section("short", 1, { lease: SHORT_MS });
    for (const label of more) ends.push((await here.section(label, 1)).end);
    slowAnswer(here, scene, sleeps);
    await before.release();
    await clock.advance(SLOW_MS);
    await clock.advance(1 + more.length);
    assertEquals(served, ["first", ...more, "short"]);
    await Promise.all([...ends, short.end, clock.advance(1)]);
    await scene.assertEmpty();
  }
});

Deno.test("acquire() with a short lease survives a lost request and a minute asleep", async () => {
  const { scene, here, end } = await slowLeader();
  const { clock, served } = scene;
  const short = await here.section("short", 1, { lease: SHORT_MS });
  await clock.advance(SLOW_MS - 1);
  here.line.fate = (go, { claim }) => claim?.lease === SHORT_MS ? Promise.reject(new Error("cut off")) : go();
  await clock.advance(1);
  here.line.fate = (go) => go();
  clock.stall(60_000);
  await clock.advance(5_000);
  assertEquals(served, ["leader", "short"]);
  // The lease of the leader ended while nothing ran.
  await assertRejects(() => end, LockLostError);
  await short.end;
  await scene.assertEmpty();
});

Deno.test("HandoffCohort wakes the one behind a thief that has got the lock by itself", async () => {
  const scene = new Scene();
  const { clock, rival } = scene;
  const { store, line } = scene.process({ keep: 10 });
  const before = await rival.acquire();
  const [thief, next] = [claimOf("a"), claimOf("a")];
  const over = new AbortController();
  // One that steals waits as well when the store did not grant it the lock at once.
  void store.wakeup!(thief, over.signal);
  await store.attempt(next, { enqueue: true });
  let woken = false;
  store.wakeup!(next, over.signal).then(() => woken = true);
  assertEquals(line.calls.length, 0);
  assert((await store.attempt(thief, { enqueue: true, steal: true })).granted);
  await settled();
  assert(woken, "woken");
  over.abort("over");
  await before.release().catch(() => {});
  for (const claim of [next, thief]) await store.release(claim);
  await clock.advance(0);
  await scene.assertEmpty();
});
