import { assert, assertEquals } from "@std/assert";
import { KINDS, lost, Scene, slow } from "./scene.ts";

for (const [when, options] of KINDS) {
  for (const place of [0, 1, 2]) {
    Deno.test(`acquire() with a lease below a trip, place ${place}, blocks nobody, ${when}`, async () => {
      const scene = new Scene();
      const { clock, rival, served } = scene;
      const here = scene.process(options && { keep: 200, linger: options.linger && 200 });
      here.line.fate = slow(clock, 30);
      const holder = await rival.acquire();
      const ends: Promise<void>[] = [];
      for (let came = 0; came < 5; came++) {
        const { end } = await here.section(`${came}`, 5, came === place ? { lease: 50 } : {});
        ends.push(end);
        await clock.advance(1);
      }
      await clock.advance(200);
      await holder.release();
      await clock.advance(450);
      assertEquals(served.length, 4, `served within 450 ms: ${served}`);
      await clock.advance(20_000);
      const outcomes = await Promise.allSettled(ends);
      assertEquals(outcomes.map(({ status }) => status === "rejected"), ends.map((_, i) => i === place));
      await scene.assertEmpty();
    });
  }

  Deno.test(`acquire() is served at once while a handle pauses after a fault, ${when}`, async () => {
    for (let moment = 10; moment < 500; moment += 20) {
      const scene = new Scene();
      const { clock, served } = scene;
      const here = scene.process(options);
      here.line.fate = lost;
      const pausing = await here.section("pausing", 1);
      await clock.advance(4_000 + moment);
      here.line.fate = (go) => go();
      const newcomer = await here.section("newcomer", 1);
      assertEquals(served, ["newcomer"], `${moment} ms after the fault`);
      await clock.advance(1_000);
      await Promise.all([pausing.end, newcomer.end]);
      await scene.assertEmpty();
    }
  });

  Deno.test(`acquire() of a rival waits for no handle that pauses, ${when}`, async () => {
    for (let moment = 0; moment < 500; moment += 20) {
      const scene = new Scene();
      const { clock, server, rival } = scene;
      const here = scene.process(options);
      here.line.fate = lost;
      const ends: Promise<void>[] = [];
      for (const label of ["a", "b", "c"]) {
        ends.push((await here.section(label, 1)).end);
        await clock.advance(170);
      }
      await clock.advance(4_000 + moment);
      here.line.fate = (go) => go();
      while ((await server.query()).held.length === 0) await clock.advance(1);
      const other = await rival.wait("rival");
      await clock.advance((options?.keep ?? 0) + 3);
      assert(other.lock !== undefined, `${moment} ms after the fault the rival waits`);
      await other.lock.release();
      await clock.advance(1_000);
      await Promise.all(ends);
      await scene.assertEmpty();
    }
  });

  Deno.test(`tryAcquire() finds a lock free that no handle wants, ${when}`, async () => {
    for (const held of [2, 6, 20, 24, 48, 52]) {
      for (const pause of [0, 1, 4, 6, 8, 12, 44, 48, 52]) {
        const scene = new Scene();
        const { clock } = scene;
        const here = scene.process(options);
        here.line.fate = slow(clock, 5);
        const first = here.tryAcquire();
        await clock.advance(10);
        const lock = await first;
        assert(lock !== null);
        await clock.advance(held);
        const released = lock.release();
        await clock.advance(pause);
        const again = here.tryAcquire();
        await clock.advance(100);
        const next = await again;
        assert(next !== null, `held for ${held} ms, again after ${pause} ms`);
        await Promise.all([released, next.release(), clock.advance(1_000)]);
        await scene.assertEmpty();
      }
    }
  });
}
