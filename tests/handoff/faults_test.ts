// Deno only: it hears of unhandled rejections as Deno tells them.
import { assert, assertEquals } from "@std/assert";
import type { Attempt } from "../../src/contract/store.ts";
import { claimOf } from "../support/claims.ts";
import { settled } from "../support/virtual_clock.ts";
import { type Fate, KINDS, lost, Scene, slow, unheard } from "./scene.ts";

/** A connection of 1 ms each way, whose requests wait in their order while it is stopped. A caller waits for 100 ms. */
class Pipe {
  readonly #scene: Scene;
  #waiting: (() => void)[] | undefined;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  readonly fate: Fate = (go, call) => {
    const { clock } = this.#scene;
    const send = () => slow(clock, 1)(go, call);
    if (this.#waiting === undefined) return send();
    return new Promise((resolve, reject) => {
      this.#waiting?.push(() => send().then(resolve, reject));
      clock.timer(100, () => reject(new Error("Command timed out")));
    });
  };

  stop(): void {
    this.#waiting = [];
  }

  resume(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const send of waiting) send();
  }
}

for (const [when, options] of KINDS) {
  for (const fault of ["a lost reply", "a late command"]) {
    for (const first of ["asks again", "gives up"]) {
      Deno.test(`acquire() keeps its place: ${fault}, the first ${first}, ${when}`, async () => {
        const scene = new Scene();
        const { clock, rival, served } = scene;
        const here = scene.process(options);
        const pipe = new Pipe(scene);
        here.line.fate = pipe.fate;
        const before = await rival.acquire();
        const enough = new AbortController();
        const ends = [(await here.section("1", 0, { signal: enough.signal })).end];
        for (const [label, process] of [["2", here], ["3", here], ["rival", rival], ["4", here]] as const) {
          await clock.advance(5);
          ends.push((await process.section(label, 0)).end);
        }
        await clock.advance(5);
        if (fault === "a lost reply") {
          here.line.fate = async (go, call) => {
            const reply = await pipe.fate(go, call);
            if (call.operation !== "attempt" || !(reply as Attempt).granted) return reply;
            here.line.fate = pipe.fate;
            throw new Error("cut off");
          };
          await before.release();
          await clock.advance(8);
        } else {
          pipe.stop();
          await before.release();
          await clock.advance(115);
        }
        if (first === "gives up") enough.abort(new Error("enough"));
        await clock.advance(65);
        pipe.resume();
        await clock.advance(20_000);
        await Promise.allSettled(ends);
        // With `keep` those that sleep have no place in the queue of the store.
        if (options === undefined) assertEquals(served.slice(-3), ["3", "rival", "4"]);
        const own = served.filter((label) => label !== "rival");
        assertEquals(own, first === "asks again" ? ["1", "2", "3", "4"] : ["2", "3", "4"]);
        await scene.assertEmpty();
      });
    }
  }
}

for (
  const [section, expected] of [
    [0, ["1", "3", "rival", "pausing"]],
    [100, ["1", "3", "pausing", "rival"]],
  ] as const
) {
  Deno.test(`acquire() that pauses is passed over until it is back, ${section} ms a section`, async () => {
    const scene = new Scene();
    const { clock, rival, served } = scene;
    const here = scene.process();
    const before = await rival.acquire();
    const ends: Promise<void>[] = [];
    for (const [label, process] of [["1", here], ["pausing", here], ["3", here], ["rival", rival]] as const) {
      ends.push((await process.section(label, section, { meta: { label } })).end);
    }
    here.line.fate = (go, call) => call.claim?.meta?.includes("pausing") ? lost(go, call) : go();
    // It has attempted again, in vain.
    await clock.advance(220);
    here.line.fate = (go) => go();
    await before.release();
    await clock.advance(2_000);
    await Promise.all(ends);
    assertEquals(served, [...expected]);
    await scene.assertEmpty();
  });
}

for (const [when, options] of KINDS) {
  Deno.test(`acquire() copes with a store that cannot notify, ${when}`, async () => {
    const scene = new Scene();
    const { clock, rival, served } = scene;
    const here = scene.process(options);
    const unhandled = await rejections(async () => {
      here.line.notice = () => Promise.reject(new Error("subscription failed"));
      const before = await rival.acquire();
      const enough = new AbortController();
      const ends = [(await here.section("gives up", 1, { signal: enough.signal })).end];
      for (const label of ["1", "2", "3"]) {
        const { promise } = await here.wait(label);
        // A holder that reads its signal is notified of a revocation.
        ends.push(promise.then((lock) => lock.signal.aborted ? undefined : lock.release()));
      }
      // The first one fails, and with it perhaps a run, so that the others are woken although they do not sleep.
      here.line.fate = lost;
      await clock.advance(220);
      here.line.fate = (go) => go();
      enough.abort(new Error("enough"));
      await before.release();
      await clock.advance(5_000);
      await Promise.allSettled(ends);
    });
    assertEquals(unhandled, []);
    assertEquals(served.length, 3, `${served}`);
  });

  Deno.test(`wakeup() that the store rejects is always handled, ${when}`, async () => {
    const scene = new Scene();
    const { server } = scene;
    const here = scene.process(options);
    const [before, first, second] = [claimOf("a"), claimOf("a"), claimOf("a")];
    await server.attempt(before, { enqueue: false });
    for (const claim of [first, second]) await here.store.attempt(claim, { enqueue: true });
    const ended = new AbortController();
    const unhandled = await rejections(async () => {
      here.line.fate = lost;
      await here.store.attempt(first, { enqueue: true }).catch(() => {});
      here.line.fate = (go) => go();
      // The second one is to attempt again, as it may have lost its place, and does not sleep yet.
      await here.store.release(first);
      here.line.notice = () => Promise.reject(new Error("subscription failed"));
      here.store.wakeup!(second, ended.signal).catch(() => {});
      await settled();
    });
    ended.abort();
    assertEquals(unhandled, []);
  });
}

Deno.test("release() that fails of a place whose lock goes back is always handled", async () => {
  const scene = new Scene();
  const { clock, rival } = scene;
  const here = scene.process({ keep: 1_000 });
  const before = await rival.acquire();
  // While the first one pauses after a fault the second one asks: both have a place in the queue of the store.
  here.line.fate = unheard;
  const first = await here.wait("first");
  here.line.fate = (go) => go();
  const enough = new AbortController();
  const second = await here.wait("second", { signal: enough.signal, meta: { label: "second" } });
  await clock.advance(100);
  await before.release();
  await settled();
  assert(first.lock !== undefined);
  const unhandled = await rejections(async () => {
    here.line.fate = (go, call) => (call.claim?.meta?.includes("second") ? lost : slow(clock, 50))(go, call);
    // The second one gives up when it was handed the lock, before it attempts.
    const released = first.lock!.release();
    enough.abort(new Error("enough"));
    await settled();
    assert(second.error !== undefined);
    await released;
    here.line.fate = (go) => go();
    await clock.advance(1_000);
  });
  assertEquals(unhandled, []);
  await scene.assertEmpty();
});

Deno.test("release() of a place waits for all attempts, in whatever order they are answered", async () => {
  const scene = new Scene();
  const here = scene.process();
  const [before, first, second] = [claimOf("a"), claimOf("a"), claimOf("a")];
  await scene.server.attempt(before, { enqueue: false });
  for (const claim of [first, second]) await here.store.attempt(claim, { enqueue: true });
  const answered = Promise.withResolvers<void>();
  here.line.fate = async (go) => {
    const reply = await go();
    await answered.promise;
    return reply;
  };
  const late = here.store.attempt(second, { enqueue: true });
  here.line.fate = (go) => go();
  await here.store.attempt(second, { enqueue: true });
  await scene.server.release(before);
  for (const claim of [first, second]) {
    assert((await here.store.attempt(claim, { enqueue: true })).granted);
    if (claim === first) await here.store.release(first);
  }
  // A loop that waits for what was answered long ago would go on here for ever.
  await settled();
  assert(!here.line.calls.some(({ operation }) => operation === "release"));
  answered.resolve();
  await late;
  await here.store.release(second);
  await scene.clock.advance(1_000);
  await scene.assertEmpty();
});

for (const options of [{ keep: 10 }, { keep: 10, linger: 10 }]) {
  Deno.test(`acquire() asks seldom while the store is down, ${JSON.stringify(options)}`, async () => {
    const scene = new Scene();
    const { clock, rival } = scene;
    const here = scene.process(options);
    const before = await rival.acquire({ lease: 60_000 });
    const waits = [];
    for (let i = 0; i < 32; i++) waits.push(await here.wait(`${i}`));
    here.line.fate = lost;
    here.line.calls.length = 0;
    await clock.advance(12_000);
    for (const { error } of waits) assertEquals((error as { code?: string })?.code, "store");
    const attempts = here.line.calls.filter(({ operation }) => operation === "attempt").length;
    assert(attempts < 60, `${attempts} attempts`);
    await before.release();
  });

  Deno.test(`acquire() asks again soon after the store was down, ${JSON.stringify(options)}`, async () => {
    const scene = new Scene();
    const { clock, rival, served } = scene;
    const here = scene.process(options);
    const before = await rival.acquire({ lease: 60_000 });
    const ends = [];
    for (let i = 0; i < 32; i++) ends.push((await here.section(`${i}`, 0)).end);
    here.line.fate = lost;
    await clock.advance(5_000);
    here.line.fate = (go) => go();
    await before.release();
    await clock.advance(1_500);
    assertEquals(served.length, 32);
    await Promise.all(ends);
    await scene.assertEmpty();
  });
}

/** Returns the reasons of the rejections that nobody handled meanwhile. */
async function rejections(run: () => Promise<void>): Promise<unknown[]> {
  const reasons: unknown[] = [];
  const note = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    reasons.push(event.reason);
  };
  globalThis.addEventListener("unhandledrejection", note);
  try {
    await run();
    await settled();
  } finally {
    globalThis.removeEventListener("unhandledrejection", note);
  }
  return reasons;
}
