// Deno only: it makes a temporary file for SQLite.
import { assert, assertEquals } from "@std/assert";
import { StoreError } from "../../src/contract/errors.ts";
import { FileStore } from "../../src/stores/sqlite/store.ts";
import { claimOf } from "../support/claims.ts";
import { settled, VirtualClock } from "../support/virtual_clock.ts";
import { handoffOf, KINDS, lost, Scene, sleeps, slow } from "./scene.ts";

for (const [when, options] of KINDS) {
  for (const pause of [0, 300, 2_500]) {
    Deno.test(`acquire() rejects as soon as its store closes, after ${pause} ms, ${when}`, async () => {
      const scene = new Scene();
      const { clock, rival } = scene;
      const here = scene.process(options && { ...options, keep: 60_000 });
      const before = await rival.acquire();
      const first = await here.wait("first");
      const waiters = [await here.wait("second"), await here.wait("third")];
      await before.release();
      await settled();
      assert(first.lock !== undefined);
      // Meanwhile those that wait may have attempted again.
      await clock.advance(pause);
      here.line.close();
      await settled();
      assertEquals(waiters.map(({ error }) => error instanceof Error), [true, true], "rejected");
      await first.lock.release().catch(() => {});
    });
  }

  Deno.test(`acquire() is woken when the lock was handed on under a shorter lease, ${when}`, async () => {
    const scene = new Scene();
    const { clock, rival, served } = scene;
    const here = scene.process(options && { ...options, keep: 10_000 });
    const before = await rival.acquire();
    const first = await here.wait("first", { lease: 8_000 });
    await here.wait("hangs", { lease: 50, renew: false });
    const last = await here.wait("last", { lease: 8_000 });
    // With `keep` the process has no claim to be served before others once its lease has ended.
    const other = options === undefined ? await rival.wait("rival") : undefined;
    await before.release();
    await settled();
    // By then the last one has been told when the lease of the first one ends.
    await clock.advance(500);
    await first.lock?.release();
    await settled();
    assertEquals(served, ["first", "hangs"]);
    await clock.advance(60);
    assertEquals(served, ["first", "hangs", "last"]);
    await (await last.promise).release();
    await clock.advance(20_000);
    await (await other?.promise)?.release();
  });

  Deno.test(`acquire() is woken when the holder has shortened its lease, ${when}`, async () => {
    const scene = new Scene();
    const { clock, rival, served } = scene;
    const here = scene.process(options && { ...options, keep: 10_000 });
    const before = await rival.acquire();
    const first = await here.wait("hangs", { lease: 8_000, renew: false });
    const last = await here.wait("last", { lease: 8_000 });
    const other = options === undefined ? await rival.wait("rival") : undefined;
    await before.release();
    await clock.advance(500);
    await first.lock!.extend(50);
    await clock.advance(60);
    assertEquals(served, ["hangs", "last"]);
    await (await last.promise).release();
    await clock.advance(20_000);
    await (await other?.promise)?.release();
  });

  Deno.test(`wakeup() of a member resolves when an SQLite file is closed, ${when}`, async () => {
    const path = Deno.makeTempFileSync({ suffix: ".db" });
    const clock = new VirtualClock();
    using file = new FileStore(path, undefined, clock);
    const here = handoffOf(file, clock, options && { ...options, keep: 60_000 });
    {
      using there = new FileStore(path, undefined, clock);
      // It wakes them also when several have shared a name before, and have left it.
      const former = [claimOf("b"), claimOf("b")];
      for (const claim of former) await here.attempt(claim, { enqueue: true });
      for (const claim of former) await here.release(claim);
      const [before, first, second] = [claimOf("a"), claimOf("a"), claimOf("a")];
      await there.attempt(before, { enqueue: false });
      for (const claim of [first, second]) await here.attempt(claim, { enqueue: true });
      await there.release(before);
      await clock.advance(100);
      assert((await here.attempt(first, { enqueue: true })).granted, "granted");
      // It has attempted again since it became a member.
      await here.attempt(second, { enqueue: true });
      let woken = false;
      const ended = new AbortController();
      here.wakeup!(second, ended.signal).then(() => woken = true);
      await settled();
      assertEquals(woken, false);
      file.close();
      await settled();
      assert(woken, "woken when the file is closed");
      ended.abort();
    }
    Deno.removeSync(path);
  });

  Deno.test(`acquire() asks again when its attempt fails after a wake-up, ${when}`, async () => {
    const scene = new Scene();
    const { clock, rival, served } = scene;
    const here = scene.process(options);
    const before = await rival.acquire();
    // The first one pauses after a fault, so that the second one is ahead of it in the queue of the store.
    here.line.fate = lost;
    const ends = [(await here.section("first", 1)).end];
    here.line.fate = sleeps;
    ends.push((await here.section("second", 1)).end);
    await clock.advance(2_000);
    // The store does not tell again that it is the turn of a waiter.
    here.line.notice = () => new Promise(() => {});
    here.line.fate = () => {
      here.line.fate = sleeps;
      return Promise.reject(new StoreError("loading"));
    };
    await before.release();
    await clock.advance(1_000);
    assertEquals(served[0], "second");
    await Promise.all([...ends, clock.advance(30_000)]);
    await scene.assertEmpty();
  });
}

Deno.test("wakeup() resolves when the one that asks for all gives up", async () => {
  const scene = new Scene();
  const { clock, server } = scene;
  // It lingers: the first handle goes to the store through the queue of the process.
  const { store, line } = scene.process({ keep: 10_000, linger: 1 });
  const [leader, next] = [claimOf("a"), claimOf("a")];
  line.fate = slow(clock, 50);
  const asking = store.attempt(leader, { enqueue: true });
  await clock.advance(1);
  await store.attempt(next, { enqueue: true });
  let woken = false;
  const over = new AbortController();
  store.wakeup!(next, over.signal).then(() => woken = true);
  await settled();
  assert(!woken);
  void store.release(leader);
  await settled();
  assert(woken);
  over.abort("over");
  await Promise.all([asking, clock.advance(200)]);
  await Promise.all([store.release(next), clock.advance(200)]);
  assertEquals(await server.query(), { held: [], pending: [] });
});
