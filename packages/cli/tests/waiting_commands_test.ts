// Deno only: it runs the command line, which needs node:readline and node:util, which not every runtime has.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, type Lock, type Store, StoreError } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { UsageError } from "../src/command.ts";
import { evict } from "../src/commands/evict.ts";
import { untilFree, wait } from "../src/commands/wait.ts";
import { watch } from "../src/commands/watch.ts";
import { inTime } from "../../../tests/support/in_time.ts";
import { HANG_MS, until } from "../../../tests/support/until.ts";
import { VirtualClock } from "../../../tests/support/virtual_clock.ts";
import { IDLE, invoke } from "./invoke.ts";

/** A store whose listings fail as the numbers of the calls say. */
function failing(store: Store, failure: (call: number) => Error | undefined): Store {
  let calls = 0;
  return {
    ...IDLE,
    query: (options) => {
      const error = failure(++calls);
      return error === undefined ? store.query!(options) : Promise.reject(error);
    },
  };
}

Deno.test("wait goes on when the store fails for a moment", async () => {
  const store = memory();
  const lock = await acquire(store, "a");
  let failed = 0;
  const flaky = failing(store, (call) => {
    if (call === 1 || call > 4) return undefined;
    failed++;
    if (call === 4) void lock.release();
    return new Error("cut off");
  });
  const { status } = await invoke(wait, flaky, ["a"]);
  assertEquals([status, failed], [0, 3]);
});

Deno.test("wait bears faults for 10 s since the last answer, however long it has waited", async () => {
  const clock = new VirtualClock();
  const store = memory();
  const lock = await acquire(store, "a");
  let fails = false;
  const flaky = failing(store, () => fails ? new Error("cut off") : undefined);
  const opened = { store: flaky, label: "memory", [Symbol.asyncDispose]: () => Promise.resolve() };
  const { signal } = new AbortController();
  let ended = false;
  const begin = () => untilFree(opened, "a", { clock, started: clock.now(), limit: Infinity, signal });
  const waiting = begin().finally(() => ended = true);
  for (const [fault, ms] of [[false, 60_000], [true, 9_000], [false, 1_000], [true, 9_000]] as const) {
    fails = fault;
    await clock.advance(ms);
    assertEquals(ended, false);
  }
  const rejects = assertRejects(() => waiting, StoreError, "cut off");
  await clock.advance(2_000);
  assertEquals((await rejects).permanent, false);
  await lock.release();
});

Deno.test("wait rejects at once if the store has never answered, or fails for good", async () => {
  const store = memory();
  const lock = await acquire(store, "a");
  const cases = [
    { failsFrom: 1, error: new Error("refused"), message: "Cannot ask memory: refused" },
    { failsFrom: 2, error: new StoreError("no rights", { permanent: true }), message: "Cannot ask memory: no rights" },
  ];
  for (const { failsFrom, error, message } of cases) {
    let calls = 0;
    const broken = failing(store, (call) => (calls = call) >= failsFrom ? error : undefined);
    await assertRejects(() => invoke(wait, broken, ["a"]), StoreError, message);
    assertEquals(calls, failsFrom);
  }
  await lock.release();
});

Deno.test("wait rejects at once when its signal aborts, also if the store hangs", async () => {
  const reason = new Error("Ctrl-C");
  for (const when of ["before", "asleep", "asking"] as const) {
    const store = memory();
    const lock = await acquire(store, "a");
    const over = new AbortController();
    const slow: Store = {
      ...IDLE,
      query: async (options) => {
        if (when !== "before") queueMicrotask(() => over.abort(reason));
        return await (when === "asleep" ? store.query!(options) : new Promise(() => {}));
      },
    };
    if (when === "before") over.abort(reason);
    const rejects = assertRejects(() => invoke(wait, slow, ["a"], { signal: over.signal }), Error);
    assertEquals(await inTime(rejects, HANG_MS, `a wait that is aborted ${when}`), reason);
    await lock.release();
  }
});

Deno.test("evict asks, says who holds the lock, and does what it is told", async () => {
  for (const [answer, gone] of [["y", true], [" Yes ", true], ["", false], ["no", false], ["yeah", false]] as const) {
    const store = memory();
    const lock = await acquire(store, "a", { strict: false, meta: { host: "web-1", pid: "7" } });
    const { status, err } = await invoke(evict, store, ["a"], { answer });
    assert(/^a is held by web-1\/7 \(for \d+m?s\); 0 waiting$/.test(err[0] ?? ""), err[0]);
    assertEquals([status, err.includes("holdfast: nothing was done"), (await store.query!()).held.length], [
      ...[gone ? 0 : 1, !gone, gone ? 0 : 1],
    ], answer);
    await lock.release().catch(() => {});
  }
});

Deno.test("evict takes a lock from all its holders", async () => {
  const store = memory();
  const shared = { mode: "shared", strict: false } as const;
  const locks = await Promise.all([1, 2, 3].map(() => acquire(store, "a", shared)));
  const { out } = await invoke(evict, store, ["a", "--yes"]);
  assert(/^Took a away from (\S+ \(fence \d+\)(, |\.$)){3}$/.test(out[0] ?? ""), out[0]);
  assertEquals((await invoke(evict, store, ["a", "-y"])).out, ["Nobody held a in memory"]);
  for (const lock of locks) await lock.release().catch(() => {});
});

Deno.test("evict takes the lock from those that it has named, and from nobody else", async () => {
  const store = memory();
  const meta = { host: "web-1", pid: "7" };
  const locks = [await acquire(store, "a", { strict: false, meta })];
  const next = acquire(store, "a", { strict: false, meta: { host: "web-2", pid: "8" } });
  const during: Store = {
    ...IDLE,
    query: store.query!.bind(store),
    evict: async (name, options) => {
      // The holder releases while the operator answers.
      await locks[0]!.release();
      locks.push(await next);
      return await store.evict!(name, options);
    },
  };
  const { status, out } = await invoke(evict, during, ["a"], { answer: "y" });
  assertEquals([status, ...out], [0, "web-1/7 held a no more: nothing was taken from anybody else."]);
  await locks[1]!.extend();
  const fence = `${locks[1]!.fence}`;
  assertEquals(await invoke(evict, store, ["a", "-y", "--fence", "1"]), {
    status: 3,
    out: [],
    err: [`holdfast: a is held by web-2/8 (fence ${fence}), by nobody with fence 1: nothing was taken away`],
  });
  const other = await invoke(evict, store, ["a", "-y", "--fence", "1", "--json"]);
  assertEquals([other.status, other.out, other.err.length], [3, ['{"name":"a","evicted":0,"lost":[]}'], 1]);
  assertEquals((await invoke(evict, store, ["b", "-y", "--fence", "1"])).out, ["Nobody held b with fence 1 in memory"]);
  await locks[1]!.extend();
  const last = acquire(store, "a", { meta: { host: "web-3", pid: "9" } });
  await until(async () => (await store.query!({ name: "a" })).pending.length > 0, "it waits");
  const { out: said } = await invoke(evict, store, ["a", "-y", "--fence", fence]);
  assertEquals([said[0], said[2]], [`Took a away from web-2/8 (fence ${fence}).`, "web-3/9 holds it now; 0 waiting."]);
  const { out: [text] } = await invoke(evict, store, ["a", "-y", "--json"]);
  const { name, evicted, lost } = JSON.parse(text!);
  assertEquals([name, evicted, lost.length, lost[0].meta.host], ["a", 1, 1, "web-3"]);
  for (const lock of [locks[1]!, await last]) await lock.release().catch(() => {});
  await assertRejects(() => invoke(evict, store, ["a", "-y", "--fence", "x"]), UsageError, "--fence must be a number");
});

Deno.test("evict says what the next waiter waits for, and asks nobody about nobody", async () => {
  const entry = (handle: string) => ({ name: "a", owner: handle, handle, mode: "exclusive" as const });
  const pending = [{ ...entry("w"), rank: 0 }];
  let held = [entry("h")];
  const store: Store = {
    ...IDLE,
    query: () => Promise.resolve({ held, pending }),
    evict: () => Promise.resolve(held.splice(0).length),
  };
  const { out } = await invoke(evict, store, ["a"], { answer: "y" });
  assertEquals(out.at(-1), "Nobody holds it yet; 1 waiting. The first one is granted it when it attempts again.");
  held = [];
  assertEquals(await invoke(evict, store, ["a"], { answer: "y" }), {
    status: 0,
    out: ["Nobody held a in memory"],
    err: [],
  });
});

Deno.test("evict refuses a store that cannot take away, and asks where it cannot list", async () => {
  await assertRejects(() => invoke(evict, IDLE, ["a", "--yes"]), UsageError, "memory cannot take locks away");
  const blind: Store = { ...IDLE, evict: () => Promise.resolve(1) };
  const { status, err } = await invoke(evict, blind, ["a"], { answer: "y" });
  assertEquals([status, err[0]], [0, "memory cannot say who holds a"]);
});

Deno.test("watch tells each failure of the store once, and goes on", async () => {
  const store = memory();
  const lock = await acquire(store, "a");
  const over = new AbortController();
  const faults: string[] = [];
  const flaky = failing(store, (call) => {
    if (call === 6) void lock.release();
    return [2, 3, 5].includes(call) ? new Error("cut off") : undefined;
  });
  const error = await assertRejects(() => {
    return invoke(watch, flaky, ["--interval", "50"], {
      signal: over.signal,
      onError: (line) => faults.push(line.replace(/^holdfast: \S+ /, "")),
      onLine: (line) => line.includes(" ended ") && over.abort(new Error("enough")),
    });
  }, Error);
  assertEquals(error.message, "enough");
  // The second and the third call failed in a row, and the fifth one.
  assertEquals(faults, ["Cannot ask memory: cut off", "Cannot ask memory: cut off"]);
});

Deno.test("watch says on a terminal what has changed, the latest first, and as much as fits", async () => {
  const store = memory();
  const over = new AbortController();
  const frames: string[][] = [];
  const lock = await acquire(store, "a", { meta: { host: "web-1", pid: "7" } });
  const others: Lock[] = [];
  const codes = new RegExp(String.fromCharCode(0x1b) + "\\[[\\d;]*[A-Za-z]", "g");
  await assertRejects(() => {
    return invoke(watch, store, ["--interval", "50"], {
      signal: over.signal,
      size: { columns: 40, rows: 12 },
      onLine: async (text) => {
        frames.push(text.replace(codes, "").split("\n"));
        if (frames.length === 1) await lock.release();
        else if (frames.length === 2) {
          for (const name of ["b", "c", "d"]) {
            others.push(await acquire(store, name, { meta: { host: "w", pid: "1" } }));
          }
        } else over.abort(new Error("enough"));
      },
    });
  }, Error);
  const changes = frames.map((lines) =>
    lines.slice(lines.lastIndexOf("") + 1).map((line) => line.replace(/^\S+ /, ""))
  );
  assertEquals(changes[1], ["a: web-1/7 ended (exclusive)"]);
  assertEquals(changes[2], ["d: w/1 holds (exclusive)", "c: w/1 holds (exclusive)", "b: w/1 holds (exclusive)"]);
  assert(!frames[0]!.join().includes("ended"), "the first look has nothing to compare with");
  for (const frame of frames) assert(frame.length < 12, frame.join("\n"));
  for (const other of others) await other.release();
});

Deno.test("watch rejects if the store has never answered", async () => {
  await assertRejects(() => invoke(watch, failing(memory(), () => new Error("refused")), []), StoreError, "refused");
});

Deno.test("watch draws no more lines and columns than the terminal has", async () => {
  const store = memory();
  const names = Array.from({ length: 20 }, (_, i) => `${i} ${"n".repeat(100)}`);
  const locks = await Promise.all(names.map((name) => acquire(store, name)));
  const over = new AbortController();
  const frames: string[] = [];
  await assertRejects(
    () => {
      return invoke(watch, store, ["--interval", "50ms"], {
        signal: over.signal,
        size: { columns: 40, rows: 10 },
        onLine: (frame) => {
          frames.push(frame);
          if (frames.length === 2) over.abort(new Error("enough"));
        },
      });
    },
    Error,
    "enough",
  );
  for (const lock of locks) await lock.release();
  for (const frame of frames) {
    const lines = frame.split("\n").map((line) => line.replaceAll("\x1b[", "").replace(/^H|[KJ]+$/g, ""));
    assert(lines.length <= 9 && lines.every((line) => line.length <= 42), frame);
    assert(lines[0]?.includes("20 held"), lines[0]);
    assertEquals(lines.at(-1), "and 15 more: give a pattern");
  }
});
