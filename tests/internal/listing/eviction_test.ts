// Deno only: it opens SQLite, which not every other runtime has.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, type Lock, LockLostError, type Store } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { sqlite } from "@holdfast/lock/sqlite";
import { until } from "../../support/until.ts";

const STORES: Record<string, () => Store & Partial<Disposable>> = { memory, sqlite: () => sqlite(":memory:") };

/** A lock that was handed on inside this process from the first to the second handle of a run; the third one waits. */
async function handedOn(store: Store): Promise<{ first: Lock; second: Lock; third: Promise<Lock> }> {
  const holder = await acquire(store, "a");
  const waiting: Promise<Lock>[] = [];
  for (let waiters = 1; waiters <= 3; waiters++) {
    waiting.push(acquire(store, "a", { strict: false }));
    await until(async () => (await store.query!({ name: "a" })).pending.length === waiters, "it waits");
  }
  await holder.release();
  const [first, second] = [await waiting[0]!, waiting[1]!];
  await first.release();
  return { first, second: await second, third: waiting[2]! };
}

for (const [name, open] of Object.entries(STORES)) {
  Deno.test(`evict() on ${name} takes a lock that was handed on from its holder`, async () => {
    const store = open();
    for (const by of ["handle", "fence"] as const) {
      const { first, second, third } = await handedOn(store);
      const named = ({ owner, fence }: Lock) => by === "handle" ? { handle: owner } : { fence };
      assertEquals(await store.evict!("a", named(first)), 0, "it has handed the lock on");
      await second.extend();
      const { held } = await store.query!({ name: "a" });
      assertEquals(held.map(({ handle, fence }) => [handle, fence]), [[second.owner, second.fence]]);
      assertEquals(await store.evict!("a", named(second)), 1);
      const last = await third;
      await assertRejects(() => second.extend(), LockLostError);
      assertEquals(await store.evict!("a", named(second)), 0, "another one holds it");
      await last.extend();
      await last.release();
    }
    store[Symbol.dispose]?.();
  });

  Deno.test(`evict() on ${name} leaves a lock alone that was just handed on`, async () => {
    const store = open();
    const { second, third } = await handedOn(store);
    const { held: [shown] } = await store.query!({ name: "a" });
    await second.release();
    const last = await third;
    assertEquals(await store.evict!("a", { handle: shown!.handle }), 0);
    await last.extend();
    await last.release();
    store[Symbol.dispose]?.();
  });
}

Deno.test("evict() checks its options", async () => {
  const store = memory();
  const wrong = [{ handle: 1 }, { fence: 1 }, { handles: "a" }, { meta: "me" }];
  for (const options of wrong) await assertRejects(() => store.evict!("a", options as never), TypeError);
});

Deno.test("LockLostError names the one that has taken the lock away, where the store tells", async () => {
  const store = memory();
  for (const action of ["evict", "steal"]) {
    const lock = await acquire(store, "a", { strict: false });
    const { signal } = lock;
    const meta = { host: "web-9", pid: "7", job: action };
    const thief = action === "steal" ? await acquire(store, "a", { steal: true, meta }) : undefined;
    if (thief === undefined) await store.evict!("a", { meta });
    await until(() => Promise.resolve(signal.aborted), "it knows");
    const by = `it was taken away by {"host":"web-9","pid":"7","job":"${action}"}`;
    assert(String(signal.reason).endsWith(by), String(signal.reason));
    await thief?.release();
  }
});
