import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, type AcquireOptions, LockConflictError, tryAcquire } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { acquireFrom } from "../src/lock/acquisition.ts";
import { checkAcquireOptions } from "../src/lock/options.ts";
import type { Capability } from "../src/contract/store.ts";
import { granted, ScriptedStore } from "./support/scripted_store.ts";
import { VirtualClock } from "./support/virtual_clock.ts";

/** What each capability that is an option lets the caller ask for. */
const ASKED: Record<Exclude<Capability, "evict" | "query" | "fences" | "runs">, AcquireOptions> = {
  shared: { mode: "shared" },
  permits: { permits: 2 },
  owner: { owner: "me" },
  steal: { steal: true },
};

Deno.test("acquire() refuses options that the store does not support, and sends nothing", async () => {
  const clock = new VirtualClock();
  for (const [capability, options] of Object.entries(ASKED)) {
    const store = new ScriptedStore(clock);
    const words = capability === "shared" ? '"shared"' : capability;
    await assertRejects(() => acquire(store, "a", options), TypeError, words);
    await assertRejects(() => tryAcquire(store, "a", options), TypeError, words);
    assertEquals([store.calls, clock.pending], [[], 0]);
  }
});

Deno.test("acquire() attempts as the owner that it was given, with a new handle each time", async () => {
  const clock = new VirtualClock();
  const store = Object.assign(new ScriptedStore(clock), { capabilities: ["owner", "steal"] as const });
  store.onAttempt = () => granted(7n);
  const locks = [];
  for (const options of [{ owner: "a/b" }, { owner: "a/b", steal: true }]) {
    locks.push(await acquireFrom(store, "a", checkAcquireOptions(options), clock));
  }
  const claims = store.calls.map((call) => call.claim);
  assertEquals(locks.map((lock) => lock?.owner), ["a/b", "a/b"]);
  assert(claims.every(({ owner, handle }) => owner === "a/b" && /^a\/b\/[\da-f-]{36}$/.test(handle ?? "")));
  assertEquals(new Set(claims.map(({ handle }) => handle)).size, 2);
  for (const lock of locks) await lock?.release();
  assertEquals(clock.pending, 0);
});

Deno.test("acquire() rejects at once with LockConflictError when it conflicts with holders", async () => {
  const store = memory();
  await using _pool = await acquire(store, "pool", { permits: 3 });
  await using _shared = await acquire(store, "files", { mode: "shared", owner: "me" });
  const conflicts: [string, AcquireOptions, string][] = [
    ["pool", { permits: 5 }, "with 5 permits: it is held with 3 permits"],
    ["pool", {}, 'in mode "exclusive": it is held with 3 permits'],
    ["pool", { mode: "shared" }, 'in mode "shared": it is held with 3 permits'],
    ["files", { permits: 3 }, 'with 3 permits: it is held in mode "shared"'],
    ["files", { owner: "me" }, '"me" itself'],
  ];
  for (const [name, options, words] of conflicts) {
    const error = await assertRejects(() => acquire(store, name, options), LockConflictError, words);
    assertEquals(error.code, "conflict");
    await assertRejects(() => tryAcquire(store, name, options), LockConflictError, words);
  }
  assertEquals((await store.query!()).pending, []);
});
