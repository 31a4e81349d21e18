import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Store } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { tryLock } from "../../../src/cli/doctor/lock_cycle.ts";

/** A store that calls back before each call, with its name. */
function watched(store: Store, before: (call: string) => void): Store {
  const call = (name: "attempt" | "renew" | "query" | "release") => (...args: unknown[]) => {
    before(name);
    return Reflect.apply(store[name]!, store, args);
  };
  const calls = { attempt: call("attempt"), renew: call("renew"), query: call("query"), release: call("release") };
  return { drift: store.drift, wakeup: store.wakeup!.bind(store), ...calls } as unknown as Store;
}

Deno.test("tryLock() hands on a lock whose name nobody else has", async () => {
  const names = new Set<string>();
  for (let times = 0; times < 2; times++) {
    const store = memory();
    const calls: string[] = [];
    const removed: string[] = [];
    const remove = (name: string) => Promise.resolve(removed.push(name));
    const findings = await tryLock(watched(store, (call) => calls.push(call)), {
      signal: new AbortController().signal,
      remove,
    });
    assertEquals(findings.map(({ level, code }) => `${level} ${code}`), ["ok lock"]);
    assertEquals(new Set(calls), new Set(["attempt", "renew", "query", "release"]));
    assertEquals(removed.length, 1);
    names.add(removed[0]!);
    assertEquals(await store.query!(), { held: [], pending: [] });
  }
  assertEquals(names.size, 2);
});

Deno.test("tryLock() leaves nothing behind wherever it is aborted", async () => {
  const reason = new Error("enough");
  for (const step of ["attempt", "renew", "query", "release"]) {
    const store = memory();
    const over = new AbortController();
    let removed = 0;
    const remove = () => Promise.resolve(removed++);
    const trial = { signal: over.signal, remove };
    const error = await assertRejects(
      () => tryLock(watched(store, (call) => call === step && over.abort(reason)), trial),
      Error,
    );
    assert(error === reason, step);
    assertEquals([await store.query!(), removed], [{ held: [], pending: [] }, 1], step);
  }
});

Deno.test("tryLock() ends although what is left cannot be removed", async () => {
  const remove = () => Promise.reject(new Error("no right"));
  const findings = await tryLock(memory(), { signal: new AbortController().signal, remove });
  assertEquals(findings.map(({ code }) => code), ["lock"]);
});
