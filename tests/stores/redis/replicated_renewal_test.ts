import { assert, assertEquals, assertRejects } from "@std/assert";
import { StoreError } from "@holdfast/lock";
import { portOf } from "../../../src/stores/redis/clients/port_of.ts";
import { KeySpace, lockKeys } from "../../../src/stores/redis/keys/keys.ts";
import { Replicas } from "../../../src/stores/redis/commands/replicas.ts";
import { Runner } from "../../../src/stores/redis/commands/runner.ts";
import { renew } from "../../../src/stores/redis/scripts/generated.ts";
import { claimOf } from "../../support/claims.ts";
import { settled } from "../../support/virtual_clock.ts";
import { FakeClient, replyError } from "./fake_client.ts";

/** What a pipeline resolves to: the error and the reply of the script, then those of WAIT. */
type Replies = [[error: unknown, reply: unknown], [error: unknown, replicas: unknown]];

const MOVED = replyError("MOVED 3999 127.0.0.1:6381");
const NOSCRIPT = replyError("NOSCRIPT No matching script. Please use EVAL.");

/** A renewal whose pipelines are answered in turn, and a log of what was sent. */
function fixture(answers: readonly (Replies | Error)[], run: () => unknown = () => 1) {
  const log: string[] = [];
  const client = new FakeClient(() => run());
  const { eval: evaluate } = client;
  client.eval = (script, ...rest) => {
    log.push("moved");
    return evaluate.call(client, script, ...rest);
  };
  const left = answers.values();
  const note = (command: string, script: { sha: string; source: string }, text: string) => {
    log.push([script.sha, script.source].includes(text) ? command : "another script");
  };
  const pipeline = () => ({
    evalsha: (sha: string) => note("sha", renew, sha),
    eval: (text: string) => note("text", renew, text),
    wait: (min: number, timeout: number) => log.push(`wait ${min} ${timeout}`),
    exec: () => {
      const { value = new Error("one pipeline too many") } = left.next();
      return value instanceof Error ? Promise.reject(value) : Promise.resolve(value);
    },
  });
  Object.assign(client, { pipeline });
  const port = portOf(client.client);
  const replicas = new Replicas(port, new Runner(port, new KeySpace(port, "lock:")), { min: 2, timeout: 70 });
  return { client, log, replicas, renewal: () => replicas.renew(lockKeys("lock:a"), claimOf("a")) };
}

const SHA = ["sha", "wait 2 70"];
const TEXT = ["text", "wait 2 70"];

Deno.test("Replicas.renew() is replicated once enough replicas have it", async () => {
  for (const [count, replicated] of [[0, false], [1, false], [2, true], [3, true], ["2", true]] as const) {
    const { renewal, log } = fixture([[[null, 1], [null, count]]]);
    assertEquals(await renewal(), { renewed: true, earlier: false, replicated });
    assertEquals(log, SHA);
  }
  const { renewal, replicas } = fixture([[[null, 0], [null, 2]]]);
  assertEquals(await renewal(), { renewed: false, earlier: false, replicated: true });
  assertEquals(replicas.shortage, "fewer than 2 replicas had it within 70 ms");
});

Deno.test("Replicas.renew() sends the text once of a script that the server does not know", async () => {
  const { renewal, log } = fixture([[[NOSCRIPT, null], [null, 0]], [[null, 1], [null, 2]]]);
  assertEquals(await renewal(), { renewed: true, earlier: false, replicated: true });
  assertEquals(log, [...SHA, ...TEXT]);
  const never = fixture([[[NOSCRIPT, null], [null, 0]], [[NOSCRIPT, null], [null, 0]]]);
  await assertRejects(never.renewal, StoreError, "NOSCRIPT");
});

Deno.test("Replicas.renew() has the client learn of a moved slot, once, before it goes on", async () => {
  for (const words of [MOVED.message, "ASK 3999 127.0.0.1:6381"]) {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const { renewal, log } = fixture([[[replyError(words), null], [null, 0]], [[null, 1], [null, 2]]], () => promise);
    const renewed = renewal();
    await settled();
    assertEquals(log, [...SHA, "moved"]);
    resolve(1);
    assertEquals((await renewed).replicated, true);
    assertEquals(log, [...SHA, "moved", ...SHA]);
  }
  const moving = fixture([[[MOVED, null], [null, 0]], [[MOVED, null], [null, 0]]]);
  await assertRejects(moving.renewal, Error, "MOVED");
  assertEquals(moving.log, [...SHA, "moved", ...SHA]);
});

Deno.test("Replicas.renew() rejects when the script, WAIT or the pipeline fails", async () => {
  const refused = replyError("NOPERM User app has no permissions to run the 'wait' command");
  for (
    const [answer, words] of [
      [[[replyError("READONLY no"), null], [null, 2]], "READONLY"],
      [[[null, 1], [refused, null]], "+wait"],
      [[[replyError("READONLY no"), null], [refused, null]], "READONLY"],
      [replyError("EXECABORT no"), "EXECABORT"],
    ] as [Replies | Error, string][]
  ) {
    const { renewal, log } = fixture([answer]);
    await assertRejects(renewal, StoreError, words);
    assertEquals(log, SHA);
  }
  const { renewal } = fixture([new Error("Connection is closed.")]);
  const unknown = await assertRejects(renewal, Error, "Connection is closed.");
  assert(!(unknown instanceof StoreError), "it is not known what was done");
});

Deno.test("Replicas.renew() is unknown when the client was cut off meanwhile", async () => {
  const { client, renewal } = fixture([[[replyError("READONLY no"), null], [null, 0]]]);
  const renewed = renewal();
  client.emit("close");
  assert(!(await assertRejects(() => renewed, Error, "READONLY") instanceof StoreError), "it may have been sent twice");
});
