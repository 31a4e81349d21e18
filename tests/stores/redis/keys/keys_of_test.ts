import { assert, assertEquals } from "@std/assert";
import { acquire, tryAcquire } from "@holdfast/lock";
import { keysOf, redis } from "@holdfast/lock/redis";
import { testOnServer } from "../on_server.ts";

testOnServer("keysOf() names all keys of a lock, and of no other", async ({ client }) => {
  for (const options of [{}, { prefix: "billing:" }]) {
    const store = redis(client, options);
    const lock = await acquire(store, "a", { permits: 2 });
    await using _other = await acquire(store, "b");
    const before = await client.keys("*");
    const keys = keysOf(client, "a", options);
    const found = before.filter((key) => keys.includes(key));
    assert(found.length > 0 && found.length < before.length, `${found} of ${before}`);
    await lock.release();
    await client.del(...keys);
    assertEquals((await client.keys("*")).sort(), before.filter((key) => !keys.includes(key)).sort());
    const again = await tryAcquire(store, "a", { permits: 2 });
    assert(again !== null, "the lock is as new");
    await again.release();
  }
});
