import { assert, assertEquals } from "@std/assert";
import { acquire, type Lock } from "@holdfast/lock";
import { redlock } from "@holdfast/lock/redlock";
import { LONG } from "../support/claims.ts";
import { Masters } from "../support/masters.ts";
import { until } from "../support/until.ts";

Deno.test("redlock() lists and evicts on servers, of which one may be down", async () => {
  await using masters = await Masters.start(3);
  const store = redlock(await masters.nodes(), { nodeTimeout: LONG });
  const meta = { job: "import" };
  const holder = await acquire(store, "a", { meta, strict: false });
  let next: Lock | undefined;
  const waiting = acquire(store, "a", { meta }).then((lock) => next = lock);
  await until(async () => (await store.query!({ name: "a" })).pending.length === 1, "it waits");
  const { held, pending } = await store.query!();
  assertEquals(held.map(({ name, owner, handle }) => [name, owner, handle]), [["a", holder.owner, holder.owner]]);
  assertEquals(pending.map(({ name, rank }) => [name, rank]), [["a", 0]]);
  await masters.kill(2);
  assertEquals((await store.query!()).held.map(({ owner }) => owner), [holder.owner]);
  assertEquals(await store.evict!("a"), 1);
  await waiting;
  assert(next!.fence > holder.fence);
  assertEquals(next!.owner, pending[0]?.owner);
  const { held: after } = await store.query!({ name: "a" });
  assertEquals(after.map(({ owner }) => owner), [next!.owner]);
  await next!.release();
  await holder[Symbol.asyncDispose]();
});

Deno.test("redlock() lists the locks of servers in pages", async () => {
  await using masters = await Masters.start(3);
  const store = redlock(await masters.nodes(), { nodeTimeout: LONG });
  const names = Array.from({ length: 30 }, (_, i) => `page ${i}`);
  const locks = await Promise.all(names.map((name) => acquire(store, name)));
  const listed = new Map<string, string>();
  let cursor: string | undefined;
  do {
    const page = await store.query!({ limit: 10, cursor });
    for (const { name, owner } of page.held) listed.set(name, owner);
    cursor = page.cursor;
  } while (cursor !== undefined);
  for (const lock of locks) assertEquals(listed.get(lock.name), lock.owner);
  assertEquals(listed.size, names.length);
  await Promise.all(locks.map((lock) => lock.release()));
});
