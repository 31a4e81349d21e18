// Deno only: it makes a temporary file for SQLite.
import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { acquire, type Lock, LockLostError, type Store, tryAcquire } from "@holdfast/lock";
import { cohort } from "@holdfast/lock/cohort";
import type { Attempt } from "../../src/contract/store.ts";
import { MemoryStore } from "../../src/stores/memory/store.ts";
import { FileStore } from "../../src/stores/sqlite/store.ts";
import { aborted } from "../../src/time/aborted.ts";
import { settled, VirtualClock } from "../support/virtual_clock.ts";
import { asCallersSee, KINDS, Line, lost, type Process, Scene, unheard } from "./scene.ts";

/** Longer than a test, so that only what it does ends the time of a process with a lock. */
const KEEP = 60_000;

/** The objects through which one process may use the locks of one store. */
const OBJECTS: readonly (readonly [what: string, make: (store: Store) => Store])[] = [
  ["the store", (store) => store],
  ["a decorator", (store) => new Line(store)],
  ["a cohort", (store) => cohort(store, { keep: KEEP })],
  ["a cohort on a decorator", (store) => cohort(new Line(store), { keep: KEEP })],
];

/** How this process takes the lock away from its holders. */
const REVOCATIONS: readonly (readonly [what: string, revoke: (store: Store) => Promise<unknown>])[] = [
  ["evict()", (store) => store.evict!("a")],
  ["steal", async (store) => {
    const thief = await acquire(store, "a", { steal: true });
    await thief.release();
  }],
];

for (const [what, revoke] of REVOCATIONS) {
  for (const [holding, makeHolding] of OBJECTS) {
    for (const [revoking, makeRevoking] of OBJECTS) {
      Deno.test(`${what} through ${revoking} ends what is handed on through ${holding}`, async () => {
        const clock = new VirtualClock();
        const server = new MemoryStore(undefined, clock);
        const store = asCallersSee(server, clock);
        const here = makeHolding(store);
        const through = makeRevoking === makeHolding ? here : makeRevoking(store);
        const other = new Line(server);
        // Two handles at once: then the process knows that several want the lock.
        const first = await acquire(here, "a");
        const second = acquire(here, "a");
        await first.release();
        await (await second).release();
        // Fences are not reserved far ahead of the clock of the store.
        await clock.advance(1_000);
        const before = await acquire(other, "a");
        const taken: (Lock | undefined)[] = [];
        const waiting = [0, 1, 2].map((i) => acquire(here, "a").then((lock) => taken[i] = lock));
        await settled();
        await before.release();
        await settled();
        assert(taken[0] !== undefined, "the first one holds it");
        // The last one has no place in the queue of the store with `keep`: that cannot tell it anything.
        await taken[0].release();
        await settled();
        assert(taken[1] !== undefined, "the second one holds it");
        await revoke(through);
        const thief = await tryAcquire(other, "a");
        await taken[1].release().catch(() => {});
        await settled();
        const both = [thief, ...taken.slice(2)].filter((lock) => lock?.held);
        assert(both.length < 2, "two holders");
        await thief?.release();
        for (const each of waiting.slice(2)) await (await each).release();
        for (const each of [here, through]) await (each as Partial<AsyncDisposable>)[Symbol.asyncDispose]?.();
        assertEquals(await server.query(), { held: [], pending: [] });
      });
    }
  }
}

/**
 * Has 60 handles use the lock for 3 ms each, and read `signal` at once if asked, until they are stopped; counts them.
 */
async function sections(scene: Scene, here: Process, reads: boolean) {
  const state = { taken: 0, stopped: false };
  const section = async () => {
    const lock = await here.acquire();
    if (state.stopped) return await lock.release().catch(() => {});
    state.taken++;
    if (reads) assertEquals(lock.signal.aborted, false);
    await scene.clock.sleep(3);
    await lock.release().catch(() => {});
  };
  const all = Array.from({ length: 60 }, section);
  await settled();
  return { state, all };
}

/** Has a rival steal the lock from handles that hand it on; returns how many more of them were granted it meanwhile. */
async function stolen(scene: Scene, here: Process, rival: Process, reads: boolean): Promise<number> {
  const { clock } = scene;
  const before = await rival.acquire();
  const { state, all } = await sections(scene, here, reads);
  await clock.advance(500);
  await before.release();
  for (let passed = 0; state.taken < 3; passed++) {
    assert(passed < 500, "handles of the process have the lock");
    await clock.advance(1);
  }
  const stealing = rival.acquire({ steal: true });
  await clock.advance(1);
  const thief = await stealing;
  const { taken } = state;
  await clock.advance(1_000);
  const more = state.taken - taken;
  state.stopped = true;
  await thief.release();
  await clock.advance(10_000);
  await Promise.all(all);
  return more;
}

for (
  const [when, options, reads] of KINDS.flatMap(([when, options]) => [
    [when, options, true] as const,
    [`${when}, where no signal is read`, options, false] as const,
  ])
) {
  Deno.test(`acquire() of a process ends soon after a steal elsewhere, ${when}`, async () => {
    const scene = new Scene();
    const here = scene.process(options && { ...options, keep: 10_000 });
    // A notice takes longer than a section.
    here.line.notice = async (notice) => {
      const by = await notice;
      await scene.clock.sleep(10);
      return by;
    };
    const more = await stolen(scene, here, scene.rival, reads);
    assert(more <= 4, `${more} more handles held it beside the thief`);
    await scene.assertEmpty();
  });

  Deno.test(`acquire() of a process ends soon after a steal on SQLite, ${when}`, async () => {
    const scene = new Scene();
    const path = Deno.makeTempFileSync({ suffix: ".db" });
    {
      using file = new FileStore(path, undefined, scene.clock);
      using other = new FileStore(path, undefined, scene.clock);
      const here = scene.process(options && { ...options, keep: 10_000 }, file);
      const more = await stolen(scene, here, scene.plainProcess(other), reads);
      // The file is looked at every 50 ms.
      assert(more <= 20, `${more} more handles held it beside the thief`);
    }
    Deno.removeSync(path);
  });
}

for (const [when, options] of KINDS) {
  for (const what of ["evict()", "steal"]) {
    Deno.test(`acquire() hands on no grant whose reply a ${what} has overtaken, ${when}`, async () => {
      const scene = new Scene();
      const { clock, rival } = scene;
      const here = scene.process(options);
      const before = await rival.acquire();
      const waiting = [];
      for (const label of ["1", "2", "3"]) waiting.push(await here.wait(label));
      const answered = Promise.withResolvers<void>();
      here.line.fate = async (go, call) => {
        const reply = await go();
        if (call.operation !== "attempt" || !(reply as Attempt).granted) return reply;
        here.line.fate = (go) => go();
        await answered.promise;
        return reply;
      };
      await before.release();
      await settled();
      if (what === "evict()") await here.store.evict!("a");
      else await (await here.acquire({ steal: true })).release();
      const other = await rival.tryAcquire();
      answered.resolve();
      await settled();
      const first = waiting.find(({ lock }) => lock !== undefined);
      await first?.lock?.release().catch(() => {});
      await settled();
      const both = [other, ...waiting.map(({ lock }) => lock)].filter((lock) => lock?.held);
      assert(both.length < 2, "two holders");
      await other?.release();
      for (const each of waiting) {
        await clock.advance(1_000);
        await each.lock?.release().catch(() => {});
      }
      await clock.advance(10_000);
      await scene.assertEmpty();
    });
  }

  for (const [what, apart] of [["a shared lock", { mode: "shared" }], ["one with an owner", { owner: "b" }]] as const) {
    Deno.test(`acquire() hands nothing on beside ${what} that the store granted, ${when}`, async () => {
      const scene = new Scene();
      const { clock, server, rival } = scene;
      const here = scene.process(options && { ...options, keep: 10_000 });
      const before = await rival.acquire();
      const waiting = [];
      for (const label of ["1", "2", "3"]) waiting.push(await here.wait(label));
      await before.release();
      await settled();
      // Another process revokes the lock, and this one is not notified.
      here.line.notice = () => new Promise(() => {});
      await server.evict("a");
      const granted = await here.wait("apart", apart);
      await waiting[0]!.lock!.release().catch(() => {});
      await settled();
      const others = [granted, ...waiting.slice(1)];
      assertEquals(others.filter(({ lock }) => lock?.held).length, 1, "holders");
      for (const each of others) {
        await clock.advance(1_000);
        await each.lock?.release().catch(() => {});
      }
      await clock.advance(30_000);
      await Promise.all(waiting.map(({ promise }) => promise));
    });
  }
}

for (const [when, options] of KINDS) {
  Deno.test(`acquire() hands nothing on that an evict() sent before took, ${when}`, async () => {
    const scene = new Scene();
    const { clock, rival, served } = scene;
    const here = scene.process(options && { ...options, keep: KEEP });
    const arrives = Promise.withResolvers<void>();
    here.line.fate = async (go, { operation }) => {
      if (operation === "evict") await arrives.promise;
      const reply = await go();
      if (operation === "evict") await clock.sleep(50);
      return reply;
    };
    // The reply alone tells of it.
    here.line.revocation = () => new Promise(() => {});
    const evicting = here.store.evict!("a");
    await settled();
    const first = await here.wait("first");
    const waiting = [await here.wait("second"), await here.wait("third")];
    await first.lock!.release();
    await settled();
    assert(waiting[0]!.lock !== undefined);
    arrives.resolve();
    await clock.advance(10);
    const taken = await rival.tryAcquire();
    assert(taken !== null);
    await clock.advance(100);
    await evicting;
    await waiting[0]!.lock.release().catch(() => {});
    await clock.advance(10);
    assertEquals(served, ["first", "second"]);
    await taken.release();
    await clock.advance(1_000);
    await (await waiting[1]!.promise).release();
    await clock.advance(100);
    await scene.assertEmpty();
  });
}

/** Two handles that wait for the lock with these leases, without renewals, and get it from a rival. */
async function pair(options: Parameters<Scene["process"]>[0], leases: readonly [first: number, second: number]) {
  const scene = new Scene();
  const here = scene.process(options);
  const watches: AbortSignal[] = [];
  here.line.revocation = (_, signal) => (watches.push(signal), aborted(signal));
  const before = await scene.rival.acquire();
  const enough = new AbortController();
  const first = await here.wait("1", { renew: false, lease: leases[0] });
  const second = await here.wait("2", { renew: false, lease: leases[1], signal: enough.signal });
  await before.release();
  await settled();
  /** Has one of them hold the lock, and reads its signal. */
  const hold = async (which: "first" | "second") => {
    if (which === "first") enough.abort("enough");
    else await first.lock!.release();
    await settled();
    const lock = (which === "first" ? first : second).lock!;
    assertEquals(lock.signal.aborted, false);
    assert(watches.some(({ aborted }) => !aborted), "it is watched");
    return lock;
  };
  return { scene, here, hold, watches: () => watches.filter(({ aborted }) => !aborted).length };
}

/** Leases of two handles, which of them holds the lock and never releases it, and how it changes its lease. */
const NEVER_RELEASED = [
  ["is granted the lock", [1_000, 1_000], "first", undefined],
  ["is handed the lock", [1_000, 1_000], "second", undefined],
  ["is handed the lock with a shorter lease", [3_600_000, 1_000], "second", undefined],
  ["is handed the lock and shortens its lease", [3_600_000, 3_600_000], "second", 1_000],
] as const;

for (const [when, options] of KINDS) {
  for (const [what, leases, which, shortened] of NEVER_RELEASED) {
    Deno.test(`acquire() of who ${what} is not watched after its lease, ${when}`, async () => {
      const { scene, hold, watches } = await pair(options, leases);
      const lock = await hold(which);
      if (shortened !== undefined) await lock.extend(shortened);
      await scene.clock.advance(lock.remaining() + 1);
      assert(lock.signal.aborted);
      await scene.clock.advance(5_000);
      assertEquals(watches(), 0);
    });
  }

  Deno.test(`release() of who was handed the lock frees it after the lease, ${when}`, async () => {
    const { scene, hold } = await pair(options, [3_600_000, 3_600_000]);
    const lock = await hold("second");
    await scene.clock.advance(lock.remaining() + 1);
    await assertRejects(() => lock.release(), LockLostError);
    await settled();
    // The store has it for longer than its holder trusts it.
    assertEquals((await scene.server.query()).held, []);
  });

  for (
    const [how, fate] of [["answered", undefined], ["lost once", lost], ["unheard once", unheard]] as const
  ) {
    Deno.test(`release() after a handoff and the lease lets the next in, ${how}, ${when}`, async () => {
      const { scene, here, hold } = await pair(options, [3_600_000, 3_600_000]);
      const lock = await hold("second");
      const third = await here.wait("3");
      await scene.clock.advance(lock.remaining() + 1);
      assertEquals(third.lock, undefined);
      here.line.fate = (go, call) => {
        if (call.operation !== "release" || fate === undefined) return go();
        here.line.fate = (go) => go();
        return fate(go, call);
      };
      const released = lock.release().catch((error: unknown) => error);
      // The one that waits asks once a second, if nothing wakes it.
      await scene.clock.advance(1_000);
      assertInstanceOf(await released, LockLostError);
      assert(third.lock?.held);
      await third.lock.release();
      await scene.assertEmpty();
    });
  }
}
