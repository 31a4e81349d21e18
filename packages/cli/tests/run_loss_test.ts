// Deno only: it starts processes of Deno, looks at /proc, and measures milliseconds.
import { assert, assertEquals } from "@std/assert";
import { tryAcquire } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import type { Redis } from "ioredis";
import { RedisServer } from "../../../tests/support/redis_server.ts";
import { replayed } from "../../../tests/support/replayed.ts";
import { HANG_MS, until } from "../../../tests/support/until.ts";
import { gone, living, processes, RunProcess, shell, storeOf, wasKilled } from "./run_process.ts";

/** Short, so that a test does not last long, and long enough for a loaded machine. */
const LEASE = 6_000;

const WORDS = ["a", "--lease", `${LEASE}`];

/** A command that ends on SIGTERM, with a status of its own, and one that does not and has started another process. */
const TAME = shell('trap "exit 3" TERM; echo $$; sleep 600 & wait');
const WILD = shell('trap "" TERM; sleep 600 & echo $$; wait');

/** Returns for how many milliseconds more the server keeps the lock. */
async function expiresIn(client: Redis): Promise<number> {
  return await client.pttl("lock:a");
}

/**
 * Resolves just after a renewal to the moment at which the lease ends unless it is renewed again, which is a tenth of
 * the lease away at least.
 */
async function leaseEnd(client: Redis, lease = LEASE): Promise<number> {
  let end = 0;
  await until(async () => {
    const asked = performance.now();
    const left = await expiresIn(client);
    end = asked + left;
    return left > lease * 0.8;
  }, "the lease was just renewed");
  return end;
}

/** Resolves like `leaseEnd`, but after the first renewal: by then the watchdog has been told of the command. */
async function firstRenewal(client: Redis): Promise<number> {
  await until(async () => await expiresIn(client) < LEASE * 0.75, "the first renewal is near");
  return await leaseEnd(client);
}

/** Returns what holdfast has said: the shell of a command says "Terminated" as well. */
function messages(errors: string): string[] {
  return errors.split("\n").filter((line) => line.startsWith("holdfast: "));
}

for (
  const [what, script] of Object.entries({ "a command": TAME, "a command that ignores SIGTERM, and its child,": WILD })
) {
  Deno.test(`holdfast run stops ${what} before its lease ends on a frozen server`, () =>
    replayed(async () => {
      await using server = await RedisServer.start();
      const client = server.connect();
      await using run = new RunProcess(storeOf(server), [...WORDS, ...script]);
      const group = await run.commandId();
      await until(() => living(group).length >= 2, "all of it runs");
      const end = await leaseEnd(client);
      server.freeze();
      const died = await gone(group);
      assert(died > end - LEASE / 2, "not before it had to be");
      const { status, errors } = await run.result();
      assertEquals(status, 76);
      if (died >= end) return `dead ${Math.round(died - end)} ms after the lease has ended`;
      if (!errors.includes('holdfast: Lock "a" could not be renewed')) return errors;
      server.thaw();
      await until(async () => (await server.leftovers()).length === 0, "nothing is left");
      return undefined;
    }, 5));
}

Deno.test("holdfast run lets its command go on when the server was frozen for a moment", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  // Long enough that a slow moment does not have the command stopped.
  const lease = 20_000;
  await using run = new RunProcess(storeOf(server), ["a", "--lease", `${lease}`, ...TAME]);
  await run.commandId();
  const end = await leaseEnd(client, lease);
  server.freeze();
  // The next renewal is sent when a third of the lease is over, and the command is stopped after two thirds.
  await until(() => performance.now() > end - lease * 0.6, "a renewal is without an answer", HANG_MS);
  server.thaw();
  await until(async () => await expiresIn(client) > lease * 0.8, "it was renewed");
  run.signal("SIGTERM");
  assertEquals((await run.result()).status, 3);
});

Deno.test("holdfast run stops its command as soon as the lock is evicted", async () => {
  await using server = await RedisServer.start();
  const store = redis(server.connect());
  await using run = new RunProcess(storeOf(server), ["a", "--lease", "1h", ...TAME]);
  const group = await run.commandId();
  const evictedAt = performance.now();
  assertEquals(await store.evict("a"), 1);
  // The first renewal would be 20 minutes later.
  await gone(group);
  const { status, errors } = await run.result();
  assertEquals(status, 76);
  // The server says by whom only to a client that has subscribed by then.
  assert(/^holdfast: Lost lock "a": it was taken away(?: by {.*})?; the command was /m.test(errors), errors);
  assert(errors.includes("the command was stopped, ") || wasKilled(errors, evictedAt), errors);
  assertEquals(await server.leftovers(), []);
});

Deno.test("holdfast run kills a command that ignores the eviction of its lock after --grace", async () => {
  await using server = await RedisServer.start();
  const store = redis(server.connect());
  await using run = new RunProcess(storeOf(server), ["a", "--grace", "300ms", ...WILD]);
  const group = await run.commandId();
  await until(() => living(group).length >= 2, "all of it runs");
  const evicted = performance.now();
  await store.evict("a");
  const died = await gone(group);
  assert(died - evicted >= 300, `dead ${died - evicted} ms after the eviction`);
  const { status, errors } = await run.result();
  assertEquals(status, 76);
  assert(errors.includes("the command was killed, and its status 137 is not passed on"), errors);
});

Deno.test("holdfast run --steal stops the command of the holder", async () => {
  await using server = await RedisServer.start();
  await using first = new RunProcess(storeOf(server), ["a", ...TAME]);
  await first.commandId();
  await using second = new RunProcess(storeOf(server), ["a", "--steal", ...shell("exit 5")]);
  assertEquals((await second.result()).status, 5);
  assertEquals((await first.result()).status, 76);
  assertEquals(await server.leftovers(), []);
});

Deno.test("holdfast run passes the status on although the lock cannot be released", async () => {
  await using server = await RedisServer.start();
  const directory = await Deno.makeTempDir({ prefix: "holdfast_run_" });
  try {
    const script = 'echo $$; while ! test -e "$1"; do sleep 0.1; done; exit 7';
    await using run = new RunProcess(storeOf(server), ["a", ...shell(script), "sh", `${directory}/end`]);
    await run.commandId();
    server.freeze();
    await Deno.writeTextFile(`${directory}/end`, "");
    const { status, errors } = await run.result();
    assertEquals(status, 7);
    assert(errors.includes('holdfast: Cannot release lock "a" within 5000 ms'), errors);
    server.thaw();
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

for (
  const [what, script] of Object.entries({ "a command": TAME, "a command that ignores SIGTERM, and its child,": WILD })
) {
  Deno.test(`holdfast run --watchdog stops ${what} in time while holdfast is suspended`, () =>
    replayed(async () => {
      await using server = await RedisServer.start();
      const client = server.connect();
      await using run = new RunProcess(storeOf(server), [...WORDS, "--watchdog", ...script]);
      const group = await run.commandId();
      const end = await firstRenewal(client);
      run.signal("SIGSTOP");
      const died = await gone(group);
      await using lock = await tryAcquire(client, "a");
      const over = lock === null ? died : performance.now();
      if (over >= end) return `dead, or seen to be, ${Math.round(over - end)} ms after the lease has ended`;
      assert(lock === null, "the lock was still held then");
      await until(() => performance.now() > end, "the lease is over");
      run.signal("SIGCONT");
      const { status, errors } = await run.result();
      // A slow machine kills it before it has ended by itself.
      if (script === TAME && errors.includes("its status 137 is")) return errors;
      const said = "holdfast: This process stood still; the command was stopped by the watchdog, and its status " +
        `${script === TAME ? 3 : 137} is not passed on`;
      assertEquals([status, messages(errors)], [76, [said]]);
      return undefined;
    }, 5));
}

Deno.test("holdfast run --watchdog stops the command when holdfast is killed", () =>
  replayed(async () => {
    await using server = await RedisServer.start();
    const client = server.connect();
    await using run = new RunProcess(storeOf(server), [...WORDS, "--watchdog", ...TAME]);
    const group = await run.commandId();
    await firstRenewal(client);
    const killed = performance.now();
    run.signal("SIGKILL");
    const died = await gone(group);
    // Without it, the command would end at no time; by the lease alone, 4 s later.
    return died - killed < 2_000 ? undefined : `dead ${died - killed} ms later`;
  }, 5));

Deno.test("holdfast run --watchdog sends SIGTERM once", () =>
  replayed(async () => {
    await using server = await RedisServer.start();
    const script = shell('trap "echo SIGTERM" TERM; echo $$; while :; do sleep 0.1; done');
    await using run = new RunProcess(storeOf(server), [...WORDS, "--watchdog", ...script]);
    await run.commandId();
    await firstRenewal(server.connect());
    server.freeze();
    const { status, output, errors } = await run.result();
    const said = messages(errors);
    // If holdfast stands still meanwhile, the watchdog is first; and the lease may end before it says why.
    if (said.length === 1 && /This process stood still|Lost lock/.test(said[0]!)) return errors;
    assertEquals([status, output], [76, ["SIGTERM"]]);
    assert(said.length === 1 && said[0]?.includes("could not be renewed"), errors);
    return undefined;
  }, 5));

Deno.test("holdfast run --watchdog leaves no watchdog behind", async () => {
  await using server = await RedisServer.start();
  const script = shell('trap "exit 8" USR1; echo $$; while :; do sleep 0.1; done');
  await using run = new RunProcess(storeOf(server), ["a", "--watchdog", ...script]);
  const group = await run.commandId();
  const [watchdog, ...others] = processes().filter(({ parent, id }) => parent === run.id && id !== group);
  assert(watchdog !== undefined && others.length === 0, "there is one");
  run.signal("SIGUSR1");
  assertEquals(await run.result(), { status: 8, output: [], errors: "" });
  assertEquals(processes().filter(({ id }) => id === watchdog.id), []);
});
