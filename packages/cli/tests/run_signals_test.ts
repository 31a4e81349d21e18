// Deno only: it starts processes of Deno, and looks at /proc.
import { assert, assertEquals } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { RedisServer } from "../../../tests/support/redis_server.ts";
import { until } from "../../../tests/support/until.ts";
import { living, RunProcess, shell, storeOf } from "./run_process.ts";

const NUMBERS = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGUSR1: 10, SIGUSR2: 12, SIGTERM: 15 } as const;

const SIGNALS = Object.keys(NUMBERS) as (keyof typeof NUMBERS)[];

/** The signals that go to all processes of a command. */
const ENDING = SIGNALS.filter((name) => !name.startsWith("SIGUSR"));

/** A script that says its id, and each signal that it gets; it ends with status 9 after the first line of its input. */
const TELLS = `${SIGNALS.map((name) => `trap "echo ${name}" ${name.slice(3)}`).join("; ")}; echo $$
while :; do sleep 0.02; test -e "$1" && exit 9; done`;

Deno.test("holdfast run passes signals on to its command and lives on", async () => {
  await using server = await RedisServer.start();
  const directory = await Deno.makeTempDir({ prefix: "holdfast_run_" });
  try {
    await using run = new RunProcess(storeOf(server), ["a", ...shell(TELLS), "sh", `${directory}/end`]);
    await run.commandId();
    for (const name of SIGNALS) {
      run.signal(name);
      assertEquals(await run.line(), name);
    }
    await Deno.writeTextFile(`${directory}/end`, "");
    assertEquals((await run.result()).status, 9);
    assertEquals(await server.leftovers(), []);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("holdfast run ends as its command does on a signal that nobody expects", async () => {
  await using server = await RedisServer.start();
  for (const name of ["SIGTERM", "SIGINT", "SIGUSR1"] as const) {
    await using run = new RunProcess(storeOf(server), ["a", ...shell("echo $$; exec sleep 60")]);
    await run.commandId();
    run.signal(name);
    assertEquals(await run.result(), { status: 128 + NUMBERS[name], output: [], errors: "" });
  }
  assertEquals(await server.leftovers(), []);
});

Deno.test("holdfast run passes signals that end on to what its command has started", async () => {
  await using server = await RedisServer.start();
  for (const name of ENDING) {
    // The shell ends only when the other process has.
    const script = shell("trap : HUP INT QUIT TERM; echo $$; sleep 60; exit 5");
    await using run = new RunProcess(storeOf(server), ["a", ...script]);
    const group = await run.commandId();
    await until(() => living(group).length === 2, "both run");
    run.signal(name);
    assertEquals((await run.result()).status, 5, name);
  }
});

Deno.test("holdfast run passes SIGUSR1 on to its command alone", async () => {
  await using server = await RedisServer.start();
  const script = shell("trap 'echo got it' USR1; echo $$; sleep 60 & wait; wait");
  await using run = new RunProcess(storeOf(server), ["a", ...script]);
  const group = await run.commandId();
  await until(() => living(group).length === 2, "both run");
  run.signal("SIGUSR1");
  assertEquals(await run.line(), "got it");
  assertEquals(living(group).length, 2);
});

Deno.test("holdfast run --foreground passes signals on to its command alone", async () => {
  await using server = await RedisServer.start();
  // To kill the other process succeeds if that still runs.
  const script = shell("sleep 60 >&- 2>&- & trap 'kill $!; exit $?' TERM; echo ready; wait");
  await using run = new RunProcess(storeOf(server), ["a", "--foreground", ...script]);
  assertEquals(await run.line(), "ready");
  run.signal("SIGTERM");
  assertEquals((await run.result()).status, 0);
});

Deno.test("holdfast run gives its command a process group and a session of its own", async () => {
  await using server = await RedisServer.start();
  // Behind the name in brackets: state, parent, group, session.
  const script = shell(`cut -d ")" -f 2 /proc/$$/stat | cut -d " " -f 4,5; echo $$`);
  await using run = new RunProcess(storeOf(server), ["a", ...script]);
  const { output: [groups, id] } = await run.result();
  assertEquals(groups, `${id} ${id}`);
});

Deno.test("holdfast run leaves the queue when a signal ends its wait", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  await using lock = await acquire(store, "a");
  for (const name of ENDING) {
    await using run = new RunProcess(storeOf(server), ["a", ...shell("echo ran")]);
    await until(async () => (await store.query()).pending.length === 1, "it waits");
    run.signal(name);
    assertEquals(await run.result(), { status: 128 + NUMBERS[name], output: [], errors: "" });
    assertEquals((await store.query()).pending, []);
  }
  assert(lock.held);
});

Deno.test("holdfast run refuses to be suspended by Ctrl-Z", async () => {
  await using server = await RedisServer.start();
  const script = shell('trap "exit 4" USR1; echo $$; while :; do sleep 0.02; done');
  await using run = new RunProcess(storeOf(server), ["a", ...script]);
  await run.commandId();
  run.signal("SIGTSTP");
  // Suspended, it could not pass this on.
  run.signal("SIGUSR1");
  const { status, errors } = await run.result();
  assertEquals(status, 4);
  assert(errors.includes("Ctrl-Z is ignored"), errors);
});
