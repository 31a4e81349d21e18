// Deno only: it starts processes of Deno.
import { assertEquals } from "@std/assert";
import process from "node:process";
import { redis } from "@holdfast/lock/redis";
import { run } from "../src/commands/run.ts";
import { RedisServer } from "../../../tests/support/redis_server.ts";
import { environmentOf, processes, runHoldfast, shell, storeOf } from "./run_process.ts";
import { invocation } from "./invocation.ts";

/** How many times a command is started: in this process, and by processes of its own. */
const STARTS = 100;
const PROCESSES = 8;

/** So many at once. */
const WORKERS = 4;

/** Runs a function for each number below a limit, by some workers. */
async function share(limit: number, work: (i: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(Array.from({ length: WORKERS }, async () => {
    for (let i = next++; i < limit; i = next++) await work(i);
  }));
}

Deno.test("run() leaves nothing behind after 100 commands, of which some fail", async () => {
  await using server = await RedisServer.start();
  const store = redis(server.connect());
  // The commands of other tests are told another name.
  const mark = crypto.randomUUID();
  const statuses: Record<number, number> = {};
  const open = () => Promise.resolve({ store, label: "", [Symbol.asyncDispose]: () => Promise.resolve() });
  const commands = [["--", "true"], shell("exit 3"), shell("kill -KILL $$"), ["--", "no-such-command-17"]];
  await share(STARTS, async (i) => {
    // Every other name is wanted by several at once.
    const words = [`${mark} ${i % 2 === 0 ? i : "shared"}`, ...commands[i % commands.length]!];
    const status = await run.run(invocation(words, run.options, { store: open, err: () => {} }));
    statuses[status] = (statuses[status] ?? 0) + 1;
  });
  assertEquals(statuses, { 0: STARTS / 4, 3: STARTS / 4, 127: STARTS / 4, 137: STARTS / 4 });
  assertEquals(await server.leftovers(), []);
  assertEquals(await store.query(), { held: [], pending: [] });
  assertEquals(processes().filter(({ id }) => environmentOf(id).includes(`HOLDFAST_NAME=${mark}`)), []);
  assertEquals(process.listenerCount("SIGTERM"), 0);
});

Deno.test("holdfast run leaves nothing behind after 8 processes, 4 at once", async () => {
  await using server = await RedisServer.start();
  await share(PROCESSES, async () => {
    assertEquals((await runHoldfast(storeOf(server), ["a", "--lease", "1h", "--", "true"])).status, 0);
  });
  assertEquals(await server.leftovers(), []);
});
