// Deno only: it starts servers, and processes of Deno.
import { assert, assertEquals } from "@std/assert";
import { findPostgres } from "../support/postgres.ts";
import { PostgresServer } from "../support/postgres_server.ts";
import { RedisServer } from "../support/redis_server.ts";
import { blocksOf, outputOf } from "./packages/run.ts";

/** The program of a page that begins with this comment, with a Redis server in the place of that of the page. */
function programOf(page: string, comment: string, server?: RedisServer): string {
  const [program = ""] = blocksOf(page).filter((code) => code.startsWith(comment));
  const port = `${server?.port}`;
  return program.replace("6379", port).replace("new Redis()", `new Redis(${port})`);
}

Deno.test("docs/recipes/lambda.md answers 503 when busy, and stops in time", async () => {
  await using server = await RedisServer.start();
  const program = programOf("lambda.md", "", server).replace("wait: 2_000", "wait: waits.shift() ?? 60_000");
  const [line] = await outputOf(`import { redis as storeOf } from "@holdfast/lock/redis";
const waits = [50];
${program}
const left = (ms: number) => ({ getRemainingTimeInMillis: () => ms });
const held = await acquire(redis, "invoice:42");
const busy = await handler({ invoice: "42" }, left(60_000));
const stopped = await handler({ invoice: "42" }, left(1_100)).catch((error) => error.name);
await held.release();
const served = await handler({ invoice: "42" }, left(60_000));
console.log(JSON.stringify({ busy, stopped, served, left: (await storeOf(redis).query()).held.length }));
redis.disconnect();`);
  const { busy, stopped, served, left } = JSON.parse(line ?? "");
  assertEquals([busy.statusCode, busy.headers, stopped], [503, { "Retry-After": "2" }, "TimeoutError"]);
  assertEquals([served.statusCode, left], [200, 0]);
});

Deno.test("docs/recipes/queues.md puts a job of BullMQ back while its lock is busy", async () => {
  await using server = await RedisServer.start();
  const lines = await outputOf(`import { acquire } from "@holdfast/lock";
import { Queue } from "bullmq";
${programOf("queues.md", "// BullMQ", server).replace("new Worker", "const worker = new Worker")}
const queue = new Queue("invoices", { connection: { host: "127.0.0.1", port: ${server.port} } });
const held = await acquire(redis, "invoice:42");
const job = await queue.add("charge", { invoice: "42" });
const until = async (state: string) => {
  while (await job.getState() !== state) await new Promise((resolve) => setTimeout(resolve, 10));
};
await until("delayed");
console.log("put back");
await held.release();
await until("completed");
console.log((await queue.getJob(job.id!))?.attemptsMade);
await worker.close();
await queue.close();
redis.disconnect();`);
  assertEquals([lines[0], lines[2]], ["put back", "1"]);
  assert(/^charged 42 with fence \d{16}n$/.test(lines[1] ?? ""), lines.join());
});

Deno.test({
  name: "docs/recipes/queues.md runs a job of pg-boss again once its lock is free",
  ignore: "missing" in findPostgres(),
  fn: async () => {
    await using server = await PostgresServer.start();
    const program = programOf("queues.md", "// pg-boss").replace(/"postgres:.*"/, JSON.stringify(server.url));
    const lines = await outputOf(`import { acquire } from "@holdfast/lock";
const { promise: done, resolve } = Promise.withResolvers<void>();
const log = console.log;
console.log = (...words) => {
  log(...words);
  resolve();
};
${program}
const held = await acquire(store, "invoice:42");
const id = await boss.send("invoices", { invoice: "42" });
while ((await boss.getJobById("invoices", id!))?.state !== "retry") await new Promise((resolve) => setTimeout(resolve, 10));
log("to be run again");
await held.release();
await done;
await boss.stop();
await pool.end();`);
    assertEquals(lines[0], "to be run again");
    assert(/^charged 42 with fence \d{16}n$/.test(lines[1] ?? ""), lines.join());
  },
});

Deno.test("docs/recipes/processes.md has one of three threads do it", async () => {
  const lines = await outputOf(programOf("processes.md", ""));
  assertEquals(lines.sort(), ["leaves it true", "leaves it true", "warms up true"]);
});

Deno.test("docs/recipes/logging.md writes a line of JSON for each event, at its level", async () => {
  // With a lease that no slow moment ends before the lock is there: that is an event as well.
  const program = programOf("logging.md", "").replace("lease: 100,", "lease: 2_000,");
  const lines = (await outputOf(program)).map((line) => JSON.parse(line));
  // pino: 50 is error; what is below info is not written.
  assertEquals(lines.map(({ level, msg }) => [level, msg]), [[50, "lock report: lost"]]);
  const [{ lock }] = lines;
  assert(/^\d{16}$/.test(lock.fence) && lock.reason === "expired", JSON.stringify(lock));
});
