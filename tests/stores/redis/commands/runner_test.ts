import { assert, assertEquals, assertRejects } from "@std/assert";
import { StoreError } from "@holdfast/lock";
import { portOf } from "../../../../src/stores/redis/clients/port_of.ts";
import type { Command } from "../../../../src/stores/redis/commands/command.ts";
import { KeySpace } from "../../../../src/stores/redis/keys/keys.ts";
import { Runner } from "../../../../src/stores/redis/commands/runner.ts";
import { held, release } from "../../../../src/stores/redis/scripts/generated.ts";
import { settled } from "../../../support/virtual_clock.ts";
import { FakeClient, replyError, type ScriptCall } from "../fake_client.ts";

const COMMAND: Command<undefined, string> = {
  script: held,
  encode: () => ({ keys: ["lock:a", "queue"], args: ["me"] }),
  decode: String,
};

/** A runner over a fake client, which answers like this. */
function fixture(answer: (call: ScriptCall, index: number) => unknown) {
  const client = new FakeClient(answer);
  const port = portOf(client.client);
  const { connection } = port;
  const runner = new Runner(port, new KeySpace(port, "lock:"));
  const run = () => runner.run(COMMAND, "a", undefined, (reply) => reply);
  return { client, connection, runner, run };
}

Deno.test("Runner.run() sends the text only of a script that the server does not know", async () => {
  const call = { keys: ["lock:a", "queue"], args: ["me"] };
  const known = fixture(() => 5);
  assertEquals(await known.run(), "5");
  assertEquals(known.client.calls, [{ ...call, script: held.sha }]);
  const unknown = fixture(({ script }) => {
    if (script === held.sha) throw replyError("NOSCRIPT No matching script. Please use EVAL.");
    return 6;
  });
  assertEquals(await unknown.run(), "6");
  assertEquals(unknown.client.calls, [{ ...call, script: held.sha }, { ...call, script: held.source }]);
  const refused = fixture(() => {
    throw replyError("READONLY You can't write against a read only replica.");
  });
  await assertRejects(refused.run, StoreError, "READONLY");
  assertEquals(refused.client.calls.length, 1);
});

Deno.test("Runner.run() explains the error of the text as well", async () => {
  const { run } = fixture(({ script }) => {
    throw replyError(script === held.sha ? "NOSCRIPT" : "WRONGTYPE Operation against a key");
  });
  const error = await assertRejects(run, StoreError, "a key of the lock is used for something else: WRONGTYPE");
  assertEquals(error.permanent, true);
});

Deno.test("Runner.run() rejects with what the client has rejected with, if no more is known", async () => {
  for (const reason of ["cut", new Error("Command timed out")]) {
    const { run, client } = fixture(() => {
      throw reason;
    });
    assert(await run().catch((error: unknown) => error) === reason, "as it is");
    assertEquals(client.calls.length, 1);
  }
});

Deno.test("Runner.run() says why the server cannot be reached, once", async () => {
  for (const reason of [new Error("Connection is closed."), new Error("connect ECONNREFUSED"), "cut"]) {
    const words = reason instanceof Error ? reason.message : reason;
    const { run, client, connection } = fixture(() => {
      throw reason;
    });
    client.emit("error", new Error("ECONNREFUSED"));
    const error = await assertRejects(run, Error);
    assert(!(error instanceof StoreError), "it is not known what was done");
    if (words.includes("ECONNREFUSED")) assert(error === reason, "it says so itself");
    else assertEquals([error.message, error.cause], [`ECONNREFUSED (${words})`, connection.error]);
    client.status = "end";
    const closed = await assertRejects(run, StoreError);
    assertEquals([closed.permanent, closed.message, closed.cause], [true, error.message, connection.error]);
  }
});

Deno.test("Runner.run() over a closed client rejects for good, with the error as the cause", async () => {
  const reason = new Error("Connection is closed.");
  const { run, client } = fixture(() => {
    throw reason;
  });
  client.status = "end";
  const error = await assertRejects(run, StoreError, "Connection is closed.");
  assertEquals([error.permanent, error.cause], [true, reason]);
});

Deno.test("Runner.run() forgets errors from before it, and keeps those that come later", async () => {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const { run, client, connection } = fixture((_, i) => i === 0 ? promise : 1);
  const early = run();
  client.emit("error", new Error("a node is down"));
  resolve(1);
  await early;
  assertEquals(connection.error?.message, "a node is down", "the answer may be older");
  await run();
  assertEquals(connection.error, undefined);
});

Deno.test("Runner.run() writes the scripts of one turn together", async () => {
  const { run, client } = fixture(() => 1);
  const log: string[] = [];
  Object.assign(client, { stream: { cork: () => log.push("cork"), uncork: () => log.push("uncork") } });
  await Promise.all([run(), run(), run()]);
  await settled();
  assertEquals(log, ["cork", "uncork"]);
});

Deno.test("Runner.failure() names the keys behind the prefix of the client", () => {
  for (const [keyPrefix, start] of [[undefined, "~lock:"], ["app:", "~app:lock:"]] as const) {
    const { client, runner } = fixture(() => 1);
    client.options = { keyPrefix };
    const error = runner.failure(replyError("NOPERM No permissions to access a key"), release, ["lock:a"], 0);
    assert(error instanceof StoreError && error.permanent, `${error}`);
    assert(error.message.includes(` ${start}*`), error.message);
  }
});
