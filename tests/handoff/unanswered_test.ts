import { assert, assertEquals } from "@std/assert";
import type { AcquireOptions } from "@holdfast/lock";
import { settled } from "../support/virtual_clock.ts";
import { type Fate, type Process, Scene } from "./scene.ts";

/** Claims that the process cannot hand the lock on to, and one that it can. */
const CLAIMS: readonly AcquireOptions[] = [{ mode: "shared" }, { permits: 2 }, { owner: "batch" }, {}];

/** An attempt is carried out, or lost on its way, and never answered. */
const HANGS: readonly (readonly [how: string, fate: Fate])[] = [
  ["carried out", (go) => go().then(() => new Promise(() => {}))],
  ["lost", () => new Promise(() => {})],
];

/** Has two handles of a process want the lock, and a third one whose attempt hangs. It gives up after 100 ms. */
async function hung(here: Process, scene: Scene, claim: AcquireOptions, fate: Fate) {
  const held = await here.acquire();
  const { end } = await here.section("second", 0);
  here.line.fate = (go, call) => call.operation === "attempt" ? fate(go, call) : go();
  const gaveUp = new AbortController();
  const hangs = here.acquire({ ...claim, signal: gaveUp.signal }).catch((error) => error);
  await settled();
  here.line.fate = (go) => go();
  await scene.clock.advance(100);
  gaveUp.abort("gave up");
  assertEquals(await hangs, "gave up");
  await Promise.all([held.release(), end, scene.clock.advance(10)]);
}

/** Returns how many requests the store gets from 100 sections of 10 handles. */
async function requestsOf(here: Process, { clock }: Scene): Promise<number> {
  const before = here.line.calls.length;
  await Promise.all([
    ...Array.from({ length: 10 }, async () => {
      for (let i = 0; i < 10; i++) await (await here.acquire()).release();
    }),
    clock.advance(100),
  ]);
  return here.line.calls.length - before;
}

for (const [how, fate] of HANGS) {
  for (const claim of CLAIMS) {
    Deno.test(`acquire() of ${JSON.stringify(claim)} that is ${how} and never answered ends no handoff`, async () => {
      const scene = new Scene();
      const here = scene.process({ keep: 1_000 });
      await hung(here, scene, claim, fate);
      // A waiter that died is passed over by the store as well.
      await scene.clock.advance(9_000);
      const requests = await requestsOf(here, scene);
      assert(requests < 10, `${requests} requests`);
    });

    Deno.test(`acquire() of ${JSON.stringify(claim)} that is ${how} and never answered leaves no name`, async () => {
      for (const options of [undefined, { keep: 10 }]) {
        const scene = new Scene();
        const here = scene.process(options);
        await hung(here, scene, claim, fate);
        await scene.clock.advance(15_000);
        assertEquals((here.store as unknown as { names: string[] }).names, []);
        assertEquals(scene.clock.pending, 0);
      }
    });
  }
}

Deno.test("acquire() keeps its place when its attempt is answered after a minute asleep", async () => {
  const scene = new Scene();
  const { clock, rival, served } = scene;
  const here = scene.process({ keep: 1_000 });
  const before = await rival.acquire({ lease: 300_000 });
  const sections = [await here.section("first", 1)];
  const answer = Promise.withResolvers<void>();
  here.line.fate = async (go, { operation, claim }) => {
    const reply = await go();
    if (operation === "attempt" && claim?.mode === "shared") await answer.promise;
    return reply;
  };
  sections.push(await here.section("shared", 1, { mode: "shared" }));
  sections.push(await here.section("last", 1));
  clock.stall(60_000);
  await clock.advance(500);
  answer.resolve();
  await clock.advance(1_500);
  await before.release();
  await Promise.all([...sections.map(({ end }) => end), clock.advance(10_000)]);
  assertEquals(served, ["first", "shared", "last"]);
  await scene.assertEmpty();
});

Deno.test("acquire() gives back what it is granted long after it has given up", async () => {
  for (const options of [undefined, { keep: 10 }]) {
    const scene = new Scene();
    const { clock } = scene;
    const here = scene.process(options);
    const answer = Promise.withResolvers<void>();
    await hung(here, scene, { mode: "shared" }, (go) => answer.promise.then(go));
    await clock.advance(20_000);
    answer.resolve();
    await clock.advance(100);
    await scene.assertEmpty();
  }
});

Deno.test("acquire() with steal that is never answered leaves no name", async () => {
  const scene = new Scene();
  const { clock, rival } = scene;
  const here = scene.process({ keep: 10 });
  const before = await rival.acquire();
  // The first answer of the store is that a majority was not reached; the second one never comes.
  const fates: Fate[] = [() => Promise.resolve({ granted: false, retryAfter: 100 }), () => new Promise(() => {})];
  here.line.fate = (go, call) => call.operation === "attempt" ? (fates.shift() ?? (() => go()))(go, call) : go();
  const gaveUp = new AbortController();
  const steals = here.acquire({ steal: true, signal: gaveUp.signal }).catch((error) => error);
  await clock.advance(200);
  gaveUp.abort("gave up");
  assertEquals(await steals, "gave up");
  assertEquals((here.store as unknown as { names: string[] }).names, []);
  await before.release();
});

Deno.test("release() that is never answered leaves no name for longer than the lease", async () => {
  const scene = new Scene();
  const { clock } = scene;
  const here = scene.process({ keep: 1 });
  const first = await here.acquire({ lease: 5_000 });
  const second = await here.wait("second", { lease: 5_000 });
  await first.release();
  await settled();
  here.line.fate = (go, { operation }) => operation === "release" ? new Promise(() => {}) : go();
  await clock.advance(2);
  const released = second.lock!.release().catch(() => {});
  await clock.advance(10_000);
  await released;
  here.line.fate = (go) => go();
  const sections = [await here.section("third", 1), await here.section("fourth", 1)];
  await Promise.all([...sections.map(({ end }) => end), clock.advance(100)]);
  assertEquals((here.store as unknown as { names: string[] }).names, []);
});
