// Deno only: it reads the warnings from the console; elsewhere the process emits them.
import { assert, assertEquals } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { warningsOf } from "../../support/warnings.ts";
import { testOnServer } from "./on_server.ts";

testOnServer("dispose warns of a client that was disconnected before", async ({ server }) => {
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
