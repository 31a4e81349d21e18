// Deno only: it starts servers.
import { assertEquals, assertRejects } from "@std/assert";
import { acquire, acquireAll, LockTimeoutError, type Store, tryAcquire } from "@holdfast/lock";
import { postgres } from "@holdfast/lock/postgres";
import { ignore as noEtcd, Place } from "../stores/etcd/place.ts";
import { connectWith, newSchema } from "../stores/postgres/clients.ts";
import { sharedServer } from "../stores/postgres/shared_server.ts";

Place.serve();
const { server, ignore: noPostgres } = await sharedServer();

/** How long a call that is over waits for its releases at most, in milliseconds. */
const UNDO_LIMIT_MS = 1_000;

/** Lets calls of one store time out, and checks that what they have held is free for another one when they reject. */
async function assertFreeBehind(store: Store, other: Store): Promise<void> {
  await using _busy = await acquire(other, "c", { lease: 60_000 });
  for (let judged = 0; judged < 10;) {
    const begun = performance.now();
    await assertRejects(() => acquireAll(store, ["a", "b", "c"], { wait: 60 }), LockTimeoutError);
    const isSlow = performance.now() - begun >= UNDO_LIMIT_MS;
    const locks = await Promise.all(["a", "b"].map((name) => tryAcquire(other, name)));
    const { pending } = await other.query!({ name: "c" });
    for (const lock of locks) await lock?.release();
    if (isSlow) continue;
    assertEquals([...locks.map((lock) => lock?.name), pending.length], ["a", "b", 0]);
    judged++;
  }
}

Deno.test({
  name: "acquireAll() on etcd rejects only when what it held is free",
  ignore: noEtcd,
  fn: async () => {
    const place = new Place();
    await assertFreeBehind(place.store(), place.store());
  },
});

Deno.test({
  name: "acquireAll() on PostgreSQL rejects only when what it held is free",
  ignore: noPostgres,
  fn: async () => {
    await using one = connectWith("pg", server().url);
    await using two = connectWith("pg", server().url);
    const schema = await newSchema(one.client);
    await assertFreeBehind(postgres(one.client, { schema }), postgres(two.client, { schema }));
  },
});
