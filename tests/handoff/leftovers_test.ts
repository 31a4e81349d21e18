import { assert, assertEquals } from "@std/assert";
import type { AcquireOptions, Lock } from "@holdfast/lock";
import { Random } from "../simulation/kernel/random.ts";
import { claimOf } from "../support/claims.ts";
import { settled } from "../support/virtual_clock.ts";
import { type Fate, KINDS, lost, Scene, unheard } from "./scene.ts";

/** How a call may end that does not wait for the lock, while another handle holds it. */
const ENDS: readonly (readonly [how: string, options: AcquireOptions, fate: Fate])[] = [
  ["is busy", {}, (go) => go()],
  ["conflicts", { permits: 2 }, (go) => go()],
  ["fails", {}, lost],
  ["is never heard", {}, unheard],
];

for (const [when, options] of KINDS) {
  for (const name of ["a", "b"]) {
    for (const [how, claim, fate] of ENDS) {
      Deno.test(`tryAcquire() that ${how} leaves nothing, ${name}, ${when}`, async () => {
        const scene = new Scene();
        const { clock, rival } = scene;
        const here = scene.process(options);
        const holder = await rival.acquire({}, name);
        here.line.fate = fate;
        const trying = here.tryAcquire(claim, name).catch(() => null);
        here.line.fate = (go) => go();
        const { end } = await here.section("waiter", 1, {}, name);
        assertEquals(await trying, null);
        assertEquals((await here.store.query!()).pending.length, 1);
        await holder.release();
        await clock.advance(10_000);
        await end;
        await scene.assertEmpty();
      });
    }
  }
}

/** Handles that wait in every way, for a short time, for a long one, or not at all. */
const CLAIMS: readonly AcquireOptions[] = [
  {},
  {},
  { wait: 5 },
  { wait: 60 },
  { mode: "shared" },
  { owner: "batch", wait: 40 },
  { lease: 500 },
];

for (const [when, options] of KINDS) {
  Deno.test(`acquire() leaves nothing when requests overtake each other, ${when}`, async () => {
    for (let seed = 0; seed < 300; seed++) {
      const scene = new Scene();
      const { clock, rival } = scene;
      const random = new Random(seed);
      const here = scene.process(options);
      here.line.fate = async (go) => {
        await clock.sleep(random.pick([0, 1, 30]));
        const reply = await go();
        await clock.sleep(random.pick([0, 1, 30]));
        return reply;
      };
      const ends: Promise<unknown>[] = [];
      for (let came = 0; came < 12; came++) {
        const process = random.chance(0.2) ? rival : here;
        ends.push((await process.section(`${came}`, random.pick([0, 5, 60]), random.pick(CLAIMS))).end);
        if (random.chance(0.3)) ends.push(here.tryAcquire().then((lock) => lock?.release()));
        await clock.advance(random.pick([0, 1, 20]));
      }
      await clock.advance(60_000);
      await Promise.allSettled(ends);
      await scene.assertEmpty();
    }
  });

  Deno.test(`acquire() of a process that stood still for a minute leaves nothing, ${when}`, async () => {
    const scene = new Scene();
    const { clock, rival } = scene;
    const here = scene.process(options);
    const holder = await rival.acquire({ lease: 600_000 });
    const ends: Promise<void>[] = [];
    // Behind a handle that cannot share the lock of its process each has a place of its own.
    for (const apart of [{}, { mode: "shared" }, {}, {}] as const) {
      ends.push((await here.section("waiter", 1, apart)).end);
    }
    await clock.advance(1_000);
    clock.stall(61_000);
    // So many names that a process may look for those that are not used any more.
    const others: Lock[] = [];
    for (let other = 0; other < 1_100; other++) {
      const first = await here.acquire({}, `${other}`);
      const second = here.acquire({}, `${other}`);
      await first.release();
      others.push(await second);
    }
    await clock.advance(1_000);
    await holder.release();
    await clock.advance(10_000);
    await Promise.all([...ends, ...others.map((lock) => lock.release())]);
    await clock.advance(1_000);
    await scene.assertEmpty();
  });
}

Deno.test("attempt() that a grant overtakes leaves no place behind its handoff", async () => {
  const scene = new Scene();
  const { server } = scene;
  const here = scene.process();
  const [before, first, second] = [claimOf("a"), claimOf("a"), claimOf("a")];
  await server.attempt(before, { enqueue: false });
  for (const claim of [first, second]) await here.store.attempt(claim, { enqueue: true });
  // The second handle attempts first, and its request arrives behind that of the first one, whose reply is the last.
  const [sent, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  here.line.fate = async (go, { operation, claim }) => {
    if (operation === "attempt" && claim?.owner === second.owner) await sent.promise;
    const reply = await go();
    if (operation === "attempt" && claim?.owner !== second.owner) await answered.promise;
    return reply;
  };
  const late = here.store.attempt(second, { enqueue: true });
  await server.release(before);
  const attempt = here.store.attempt(first, { enqueue: true });
  await settled();
  sent.resolve();
  await settled();
  answered.resolve();
  assert((await attempt).granted);
  await late;
  here.line.fate = (go) => go();
  await here.store.release(first);
  assert((await here.store.attempt(second, { enqueue: true })).granted);
  await here.store.release(second);
  await scene.clock.advance(1_000);
  await scene.assertEmpty();
});

Deno.test("attempt() leaves no place that it got after its lock was stolen", async () => {
  const scene = new Scene();
  const { server } = scene;
  const here = scene.process({ keep: 50 });
  const [before, first, second, thief] = [claimOf("a"), claimOf("a"), claimOf("a"), claimOf("a")];
  await server.attempt(before, { enqueue: false });
  for (const claim of [first, second]) await here.store.attempt(claim, { enqueue: true });
  await server.release(before);
  // The first handle attempts twice, and the lock is stolen before the second attempt is executed.
  const granted = here.store.attempt(first, { enqueue: true });
  const stolen = Promise.withResolvers<void>();
  here.line.fate = (go) => stolen.promise.then(go);
  const again = here.store.attempt(first, { enqueue: true });
  assert((await granted).granted);
  await server.attempt(thief, { enqueue: false, steal: true });
  await settled();
  stolen.resolve();
  assert(!(await again).granted);
  here.line.fate = (go) => go();
  // Its caller was told neither answer, and attempts once more, behind the other handle.
  for (const claim of [second, first]) await here.store.attempt(claim, { enqueue: true });
  await scene.clock.advance(100);
  await server.release(thief);
  for (const claim of [second, first]) {
    assert((await here.store.attempt(claim, { enqueue: true })).granted);
    await here.store.release(claim);
  }
  await scene.clock.advance(1_000);
  await scene.assertEmpty();
});

Deno.test("acquire() leaves a place that it is handed after it gave up", async () => {
  const scene = new Scene();
  const { clock, server, rival } = scene;
  const here = scene.process({ keep: 10 });
  const before = await rival.acquire();
  const enough = new AbortController();
  // Two ask, and the third one sleeps.
  for (let i = 0; i < 3; i++) (await here.wait("gives up", { signal: enough.signal })).promise.catch(() => {});
  // Requests of this store are executed in any order: the release of the last one first, then the succession.
  const succeed = here.line.succeed.bind(here.line);
  here.line.succeed = (from, to) => clock.sleep(10).then(() => succeed(from, to));
  let releases = 0;
  here.line.fate = async (go, { operation }) => {
    if (operation === "release" && ++releases < 3) await clock.sleep(20);
    return await go();
  };
  enough.abort(new Error("enough"));
  await clock.advance(1_000);
  assertEquals((await server.query()).pending, []);
  await before.release();
  await scene.assertEmpty();
});
