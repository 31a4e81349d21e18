import { assert, assertEquals, assertRejects } from "@std/assert";
import { type Store, StoreError } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { type LockAdvice, tryLock } from "../../src/doctor/lock_cycle.ts";

/** A store that calls back before each call, with its name. */
function watched(store: Store, before: (call: string) => void): Store {
  const call = (name: "attempt" | "renew" | "query" | "release") => (...args: unknown[]) => {
    before(name);
    return Reflect.apply(store[name]!, store, args);
  };
  const calls = { attempt: call("attempt"), renew: call("renew"), query: call("query"), release: call("release") };
  return { drift: store.drift, wakeup: store.wakeup!.bind(store), ...calls } as unknown as Store;
}

const ADVICE: LockAdvice = { failed: (message) => message.replace(/.*: /, "mend "), unwoken: "wake them" };

Deno.test("tryLock() hands on a lock whose name nobody else has", async () => {
  const names = new Set<string>();
  for (let times = 0; times < 2; times++) {
    const store = memory();
    const calls: string[] = [];
    const removed: string[] = [];
    const remove = (name: string) => Promise.resolve(removed.push(name));
    const findings = await tryLock(watched(store, (call) => calls.push(call)), {
      signal: new AbortController().signal,
      advice: ADVICE,
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
    const trial = { signal: over.signal, advice: ADVICE, remove };
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
  const findings = await tryLock(memory(), { signal: new AbortController().signal, advice: ADVICE, remove });
  assertEquals(findings.map(({ code }) => code), ["lock"]);
});

Deno.test("tryLock() gives the advice of the technology", async () => {
  const failing = watched(memory(), (call) => {
    if (call === "release") throw new StoreError("Cannot use it: the disk", { permanent: true });
  });
  const { signal } = new AbortController();
  const [lock] = await tryLock(failing, { signal, advice: ADVICE });
  assertEquals([lock?.code, lock?.advice], ["lock", "mend the disk"]);

  const { wakeup, ...deaf } = watched(memory(), () => {});
  assert(wakeup !== undefined);
  // Nobody wakes the waiter, who is told to come back when it is too late.
  const attempt: Store["attempt"] = async (...args) => {
    const outcome = await deaf.attempt(...args);
    return "retryAfter" in outcome ? { ...outcome, retryAfter: 60_000 } : outcome;
  };
  const [busy] = await tryLock({ ...deaf, attempt }, { signal, advice: ADVICE });
  assertEquals([busy?.code, busy?.advice], ["busy", "wake them"]);
});
