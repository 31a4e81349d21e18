// Deno only: it reads the warnings from the console; elsewhere the process emits them.
import { assert, assertEquals } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { RedisServer } from "../../support/redis_server.ts";
import { warningsOf } from "../../support/warnings.ts";

Deno.test("dispose warns of a client that was disconnected before", async () => {
  await using server = await RedisServer.start();
  const [client, other] = [server.connect(), server.connect()];
  const warnings = await warningsOf(async () => {
    await using lock = await acquire(client, "a");
    assert(lock.held);
    client.disconnect();
  });
  assertEquals(warnings.length, 1);
  assert(warnings[0]!.startsWith('Lock "a" could not be released'), warnings[0]);
  assert(await other.pttl("lock:a") > 0, "it stays");
});
