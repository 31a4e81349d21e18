// Deno only: it starts processes of Deno.
import { assert, assertEquals } from "@std/assert";
import { acquire, type Store, tryAcquire } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { redis } from "@holdfast/lock/redis";
import { run } from "../src/commands/run.ts";
import { drift } from "../../../src/contract/store.ts";
import { freePort } from "../../../tests/support/free_port.ts";
import { RedisServer } from "../../../tests/support/redis_server.ts";
import { inTime } from "../../../tests/support/in_time.ts";
import { until } from "../../../tests/support/until.ts";
import { invocation } from "./invocation.ts";
import { runHoldfast, RunProcess, shell, storeOf } from "./run_process.ts";

Deno.test("holdfast run passes on the exit status of its command", async () => {
  await using server = await RedisServer.start();
  for (const status of [7, 255]) {
    const result = await runHoldfast(storeOf(server), ["a", ...shell(`exit ${status}`)]);
    assertEquals(result, { status, output: [], errors: "" });
    assertEquals(await server.leftovers(), []);
  }
});

Deno.test("holdfast run passes on by which signal its command was killed", async () => {
  await using server = await RedisServer.start();
  const killed = await runHoldfast(storeOf(server), ["a", ...shell("kill -USR1 $$")]);
  assertEquals(killed, { status: 128 + 10, output: [], errors: "" });
});

Deno.test("holdfast run gives its command its input, its words and its environment", async () => {
  await using server = await RedisServer.start();
  const script = 'cat; echo "$1 $HOLDFAST_NAME"; echo "$HOLDFAST_FENCE"; echo "$PATH"';
  const { output } = await runHoldfast(storeOf(server), ["a b", ...shell(script), "sh", "--lease *"], "from outside\n");
  assertEquals(output.slice(0, 2), ["from outside", "--lease * a b"]);
  assert(/^\d{16}$/.test(output[2]!), output[2]);
  assertEquals(output[3], Deno.env.get("PATH"));
});

Deno.test("holdfast run ends with 127 and without the lock when there is no such command", async () => {
  await using server = await RedisServer.start();
  const { status, errors } = await runHoldfast(storeOf(server), ["a", "--", "no-such-command-17"]);
  assertEquals(status, 127);
  assertEquals(errors, 'holdfast: Cannot run "no-such-command-17": command not found\n');
  assertEquals(await server.leftovers(), []);
});

Deno.test("holdfast run ends with 126 and without the lock when it may not execute", async () => {
  await using server = await RedisServer.start();
  const { status, errors } = await runHoldfast(storeOf(server), ["a", "--", "/"]);
  assertEquals(status, 126);
  assert(errors.includes('holdfast: Cannot run "/": '), errors);
  assertEquals(await server.leftovers(), []);
});

Deno.test("holdfast run ends with 75 when the lock is busy", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  await using _ = await tryAcquire(client, "a");
  for (const wait of ["0", "300ms"]) {
    const { status, output, errors } = await runHoldfast(storeOf(server), ["a", "--wait", wait, ...shell("echo ran")]);
    assertEquals([status, output], [75, []]);
    assert(/^holdfast: the command was not run( within 300ms)?: a is held by [^;]+\n$/.test(errors), errors);
    assertEquals((await redis(client).query()).pending, []);
  }
});

Deno.test("holdfast run ends with 69 when the store cannot be reached", async () => {
  const { status, output, errors } = await runHoldfast(
    storeOf({ port: freePort() }),
    ["a", "--wait", "500ms", ...shell("echo ran")],
  );
  assertEquals([status, output], [69, []]);
  assert(errors.includes('holdfast: Cannot acquire lock "a"'), errors);
});

Deno.test("holdfast run ends with 2 when the lock is held with other permits", async () => {
  await using server = await RedisServer.start();
  await using _ = await tryAcquire(server.connect(), "a", { permits: 3 });
  const { status, output } = await runHoldfast(storeOf(server), ["a", "--permits", "2", ...shell("echo ran")]);
  assertEquals([status, output], [2, []]);
});

Deno.test("run() describes the holder by its program and --meta", async () => {
  const store = memory();
  const open = () => Promise.resolve({ store, label: "", [Symbol.asyncDispose]: () => Promise.resolve() });
  const words = ["a", "--meta", "job=import", "--", "/usr/bin/env", "sleep", "60"];
  const status = run.run(invocation(words, run.options, { store: open, err: () => {} }));
  const holder = async () => (await store.query?.())?.held[0];
  await until(async () => await holder() !== undefined, "the lock is held");
  const { meta: { command, job } = {} } = await holder() ?? {};
  await store.evict?.("a");
  assertEquals([command, job, await status], ["env", "import", 76]);
});

/** What is said of a command that was stopped. On a busy machine it is still there when its grace or lease is over. */
const STOPPED =
  /: (Lock "a" could not be renewed,|Lost lock "a":) .*; the command was (stopped|killed), and its status 1(43|37) /;

for (
  const [command, lease, status, said] of [
    [["sleep", "60"], "1s", 76, STOPPED],
    // As long as the limit of a release allows: it must end before two thirds of the lease are over.
    [["true"], "4500ms", 0, /^holdfast: Lock "a" was not released before the end of its lease$/],
  ] as const
) {
  Deno.test(`run() of ${command[0]} does not wait for a release when its lease is over`, async () => {
    const errors: string[] = [];
    const after = Promise.withResolvers<void>();
    // From the grant on the store does not answer, before all is over.
    const store: Store = {
      attempt: () => Promise.resolve({ granted: true, fence: 1n }),
      renew: () => after.promise.then(() => "lost"),
      release: () => after.promise.then(() => false),
      drift,
    };
    const open = () => Promise.resolve({ store, label: "", [Symbol.asyncDispose]: () => Promise.resolve() });
    const words = ["a", "--lease", lease, "--", ...command];
    const ended = run.run(invocation(words, run.options, { store: open, err: (line) => errors.push(line) }));
    assertEquals(await inTime(ended, 60_000, "its end"), status);
    assert(errors.length === 1 && said.test(errors[0]!), errors.join("\n"));
    after.resolve();
  });
}

Deno.test("run() says for whom it waits, and at the end of --wait who holds the lock", async () => {
  const store = memory();
  const lock = await acquire(store, "a", { meta: { host: "web-1", pid: "4711" } });
  const open = () => Promise.resolve({ store, label: "", [Symbol.asyncDispose]: () => Promise.resolve() });
  const start = (attended: boolean, ...words: string[]) => {
    const errors: string[] = [];
    const place = { store: open, err: (line: string) => errors.push(line), attended };
    return { errors, ended: run.run(invocation(["a", ...words, "--", "true"], run.options, place)) };
  };
  const busy = start(false, "--wait", "0");
  assertEquals(await busy.ended, 75);
  const [last = ""] = busy.errors;
  assert(/^holdfast: the command was not run: a is held by web-1\/4711, for \d+m?s$/.test(last), last);
  const timed = start(false, "--wait", "1");
  assertEquals(await timed.ended, 75);
  assert(
    /^holdfast: the command was not run within 1ms: a is held by web-1\/4711, /.test(timed.errors[0]!),
    timed.errors[0],
  );
  for (const attended of [false, true]) {
    const quiet = start(attended, "--wait", "0", "--quiet");
    assertEquals([await quiet.ended, quiet.errors], [75, []]);
  }
  const [attended, unattended] = [start(true), start(false)];
  await until(() => attended.errors.length > 0, "it says so", 60_000);
  assert(
    /^holdfast: waiting for a, held by web-1\/4711, for \d+s$/.test(attended.errors[0]!),
    attended.errors[0],
  );
  await lock.release();
  assertEquals([await attended.ended, await unattended.ended], [0, 0]);
  assertEquals([attended.errors.length, unattended.errors], [1, []]);
});

Deno.test("holdfast run has released the lock when it ends", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  await using run = new RunProcess(storeOf(server), ["a", ...shell("echo $$; read line")], "go on\n");
  await run.commandId();
  assertEquals((await run.result()).status, 0);
  await using lock = await tryAcquire(client, "a");
  assert(lock !== null, "it is free");
});

Deno.test("holdfast run never runs two commands at once, and gives each a larger fence", async () => {
  await using server = await RedisServer.start();
  const directory = await Deno.makeTempDir({ prefix: "holdfast_run_" });
  try {
    // To make a directory fails if it is there.
    const script = `mkdir inside || exit 1; sleep 0.02; echo "$HOLDFAST_FENCE" >> fences; rmdir inside`;
    const words = ["a", ...shell(`cd ${directory} && ${script}`)];
    const worker = async () => {
      for (let i = 0; i < 3; i++) {
        assertEquals(await runHoldfast(storeOf(server), words), { status: 0, output: [], errors: "" });
      }
    };
    await Promise.all(Array.from({ length: 4 }, worker));
    const fences = (await Deno.readTextFile(`${directory}/fences`)).trim().split("\n").map(BigInt);
    assertEquals(fences.length, 12);
    assert(fences.every((fence, i) => i === 0 || fence > fences[i - 1]!), `${fences} rise`);
    assertEquals(await server.leftovers(), []);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
