// Deno only: it reads the stacks of V8.
import { assertEquals } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { FakeClient } from "./fake_client.ts";

/** The functions of src/ that call a client, from the first to the last; each command of the client adds its own. */
function waysTo(client: FakeClient): string[][] {
  const ways: string[][] = [];
  const { evalsha } = client;
  client.evalsha = (...args) => {
    Error.stackTraceLimit = 50;
    const lines = new Error().stack!.split("\n").filter((line) => line.includes("/src/"));
    ways.push(lines.map((line) => /at (?:async )?(.*) \(/.exec(line)?.[1] ?? line).reverse());
    return evalsha.apply(client, args);
  };
  return ways;
}

Deno.test("Lock[Symbol.asyncDispose]() gets to release.lua through seven functions", async () => {
  const client = new FakeClient();
  const ways = waysTo(client);
  {
    await using _ = await acquire(client.client, "a", { renew: false });
  }
  assertEquals(ways[1], [
    "LeasedLock.[Symbol.asyncDispose]",
    "LeasedLock.release",
    "releaseWithRetry",
    "HandoffStore.release",
    "ServerStore.release",
    "Runner.run",
    "IoredisPort.evalsha",
  ]);
});

Deno.test("acquire() gets to attempt.lua through eight functions", async () => {
  const client = new FakeClient();
  const ways = waysTo(client);
  for (const name of ["a", "b"]) await (await acquire(client.client, name, { renew: false })).release();
  assertEquals(ways[2], [
    "acquire",
    "acquireFrom",
    "Acquisition.attempt",
    "HandoffStore.attempt",
    "ServerStore.attempt",
    "ServerStore.#grant",
    "Runner.run",
    "IoredisPort.evalsha",
  ]);
});
