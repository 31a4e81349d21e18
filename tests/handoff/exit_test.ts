import { assert, assertEquals } from "@std/assert";
import { settled } from "../support/virtual_clock.ts";
import { KINDS, microtasks, Scene } from "./scene.ts";

for (const [when, options] of KINDS) {
  Deno.test(`release() and the end of all waits right behind it leave nothing, ${when}`, async () => {
    for (let passed = 0; passed < 30; passed++) {
      const scene = new Scene();
      const { clock, server, rival } = scene;
      const here = scene.process(options && { ...options, keep: 10_000 });
      const before = await rival.acquire();
      const first = await here.wait("first");
      const end = new AbortController();
      const waiting = [
        await here.wait("next", { signal: end.signal }),
        await here.wait("last", { signal: end.signal }),
      ];
      const other = await rival.wait("rival");
      await before.release();
      await settled();
      // A process that shuts down: it releases what it holds, ends its waits, and disposes of what hands on.
      const released = first.lock!.release();
      await microtasks(passed);
      end.abort(new Error("shutting down"));
      await released;
      for (const { lock } of waiting) await lock?.release();
      await here.store[Symbol.asyncDispose]?.();
      await settled();
      for (const { lock } of waiting) await lock?.release();
      await clock.advance(200);
      assert(other.lock !== undefined, `${passed} microtasks later: held by ${(await server.query()).held[0]?.owner}`);
      await other.lock.release();
      await scene.assertEmpty();
    }
  });
}

Deno.test("cohort() that is disposed of right behind a release leaves no lock that lingers", async () => {
  for (let passed = 0; passed < 30; passed++) {
    const scene = new Scene();
    const here = scene.process({ keep: 10_000, linger: 10_000 });
    const lock = await here.acquire();
    const released = lock.release();
    await microtasks(passed);
    await Promise.all([released, here.store[Symbol.asyncDispose]!()]);
    assertEquals((await scene.server.query()).held, [], `${passed} microtasks later`);
    await scene.assertEmpty();
  }
});

Deno.test("cohort() that is disposed of while it has several waiters keeps their order", async () => {
  for (let passed = 0; passed < 30; passed++) {
    const scene = new Scene();
    const { clock, rival, served } = scene;
    const here = scene.process({ keep: 10_000, linger: 10_000 });
    const before = await rival.acquire();
    const ends: Promise<void>[] = [];
    for (const label of ["1", "2", "3"]) ends.push((await here.section(label, 1)).end);
    ends.push((await rival.section("rival", 1)).end);
    const released = before.release();
    await microtasks(passed);
    await Promise.all([released, here.store[Symbol.asyncDispose]!(), clock.advance(1)]);
    await clock.advance(10_000);
    await Promise.all(ends);
    assertEquals(served.filter((label) => label !== "rival"), ["1", "2", "3"], `${passed} microtasks later`);
    await scene.assertEmpty();
  }
});
