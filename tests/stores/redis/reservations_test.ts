import { assert, assertEquals } from "@std/assert";
import { release } from "../../../src/stores/redis/commands/release.ts";
import { lockKeys } from "../../../src/stores/redis/keys/keys.ts";
import { ask, claimOf, grant } from "../../support/claims.ts";
import { RedisServer } from "../../support/redis_server.ts";
import { serverStore } from "../../support/server_store.ts";

const KEYS = lockKeys("lock:a");

Deno.test("release() reserves the lock as long as its lease was, from 250 ms up to 1.5 s", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = serverStore(client);
  for (const [lease, reserved] of [[10, 250], [700, 700], [60_000, 1_500]] as const) {
    const [holder, waiter] = [claimOf("a", "exclusive", 60_000), claimOf("a")];
    await grant(store, holder);
    await ask(store, waiter);
    const { keys, args } = release.encode(KEYS, { ...holder, lease });
    // In one transaction, so that no time passes between the two.
    const results = await client.multi().eval(release.script.source, keys.length, ...keys, ...args).pttl(KEYS[0])
      .exec();
    const [released, left] = results!.map(([, reply]) => Number(reply));
    assertEquals([released, await client.get(KEYS[0])], [1, waiter.owner]);
    assert(reserved - 1 <= left! && left! <= reserved, `${left} ms`);
    await client.flushall();
  }
});
