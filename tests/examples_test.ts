// Deno only: it starts processes of Deno.
import { acquire } from "@holdfast/lock";
import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { openStore } from "../examples/store.ts";
import { permissionsOf } from "../examples/store_url.ts";
import { findEtcd } from "./support/etcd.ts";
import { EtcdCluster } from "./support/etcd_server.ts";
import { findMariadb } from "./support/mariadb.ts";
import { MariadbServer } from "./support/mariadb_server.ts";
import { findPostgres } from "./support/postgres.ts";
import { PostgresServer } from "./support/postgres_server.ts";
import { Directory, Program } from "./support/program.ts";
import { RedisServer } from "./support/redis_server.ts";
import { replayed } from "./support/replayed.ts";
import { RestFront } from "./support/rest_front.ts";

/** The night that the cron jobs of the tests write about. */
const NIGHT = "2026-01-31";

const [withPostgres, withMariadb] = [findPostgres(), findMariadb()].map((found) => ({ ignore: "missing" in found }));

/** Starts an example, with what else it needs to use the store that its first argument names. */
function start(directory: Directory, name: string, ...args: string[]): Program {
  const [where] = args;
  return new Program(directory, name, args, where === undefined ? [] : permissionsOf(where));
}

/** Fails unless one of the programs has written the report, and the others have found it written. */
async function assertWrittenOnce(programs: readonly Program[]): Promise<void> {
  for (const program of programs) assertEquals(await program.status(), 0, `${program}`);
  const output = programs.map((program) => program.output).join("");
  assertEquals(output.match(/is written$/gm)?.length, 1, output);
  assertEquals(output.match(/was already written by instance \d+$/gm)?.length, programs.length - 1, output);
}

Deno.test("examples/cron.ts runs the job once in three processes", async () => {
  using directory = new Directory();
  await using first = start(directory, "cron.ts", "sqlite:locks.db", NIGHT);
  await using second = start(directory, "cron.ts", "sqlite:locks.db", NIGHT);
  await using third = start(directory, "cron.ts", "sqlite:locks.db", NIGHT);
  await assertWrittenOnce([first, second, third]);
});

Deno.test("examples/cron.ts runs the job again when the process that ran it is killed", async () => {
  using directory = new Directory();
  await using first = start(directory, "cron.ts", "sqlite:locks.db", NIGHT);
  await first.printed("writing");
  first.kill("SIGKILL");
  await using second = start(directory, "cron.ts", "sqlite:locks.db", NIGHT);
  await second.printed("is written");
  assert(!first.output.includes("is written"), `${first}`);
});

Deno.test("examples/cron.ts runs the job once on a Redis server", async () => {
  using directory = new Directory();
  await using server = await RedisServer.start();
  const where = `redis://127.0.0.1:${server.port}`;
  await using first = start(directory, "cron.ts", where, NIGHT);
  await using second = start(directory, "cron.ts", where, NIGHT);
  await assertWrittenOnce([first, second]);
});

Deno.test("examples/cron.ts runs the job once on the servers of Redlock", async () => {
  using directory = new Directory();
  await using a = await RedisServer.start();
  await using b = await RedisServer.start();
  await using c = await RedisServer.start();
  const where = [a, b, c].map(({ port }) => `redis://127.0.0.1:${port}`).join(",");
  await using first = start(directory, "cron.ts", where, NIGHT);
  await using second = start(directory, "cron.ts", where, NIGHT);
  await assertWrittenOnce([first, second]);
});

Deno.test("examples/cron.ts runs the job once on a PostgreSQL server", withPostgres!, async () => {
  using directory = new Directory();
  await using server = await PostgresServer.start();
  await using first = start(directory, "cron.ts", server.url, NIGHT);
  await using second = start(directory, "cron.ts", server.url, NIGHT);
  await assertWrittenOnce([first, second]);
});

Deno.test("examples/cron.ts runs the job once on a MariaDB server", withMariadb!, async () => {
  using directory = new Directory();
  await using server = await MariadbServer.start();
  await using first = start(directory, "cron.ts", server.url, NIGHT);
  await using second = start(directory, "cron.ts", server.url, NIGHT);
  await assertWrittenOnce([first, second]);
});

Deno.test("examples/cron.ts runs the job once on a cluster of etcd", { ignore: "missing" in findEtcd() }, async () => {
  using directory = new Directory();
  await using cluster = await EtcdCluster.start();
  const url = `etcd://${cluster.members.map(({ port }) => `127.0.0.1:${port}`).join(",")}`;
  await using first = start(directory, "cron.ts", url, NIGHT);
  await using second = start(directory, "cron.ts", url, NIGHT);
  await assertWrittenOnce([first, second]);
});

/** The address that a server of the example has printed. */
async function addressOf(server: Program): Promise<string> {
  await server.printed("\n");
  return server.output.match(/^listening on (\S+)$/m)![1]!;
}

/** Asks a server of an example, again while that is busy: on a slow machine a wait may end. Returns the answer. */
async function answered(...request: Parameters<typeof fetch>): Promise<{ status: number; text: string }> {
  for (;;) {
    const response = await fetch(...request);
    const text = await response.text();
    if (response.status !== 503) return { status: response.status, text };
  }
}

async function withdraw(address: string): Promise<number> {
  const response = await fetch(`${address}/users/ada/withdraw/30`, { method: "POST" });
  await response.body?.cancel();
  return response.status;
}

Deno.test("examples/http.ts never overdraws although two servers are asked at once", async () => {
  using directory = new Directory();
  await using first = start(directory, "http.ts", "sqlite:locks.db", "0");
  await using second = start(directory, "http.ts", "sqlite:locks.db", "0");
  const addresses = [await addressOf(first), await addressOf(second)];
  const statuses = await Promise.all([0, 1, 0, 1, 0, 1].map((server) => withdraw(addresses[server]!)));
  // On a very busy machine some of the requests may end with 503: they did not pay either.
  assertEquals(statuses.filter((status) => ![200, 409, 503].includes(status)), []);
  using database = new DatabaseSync(`${directory.path}/example_accounts.db`);
  const paid = statuses.filter((status) => status === 200).length;
  assert(paid <= 3, `${statuses}`);
  assertEquals(database.prepare("SELECT balance FROM accounts").get()?.["balance"], 100 - 30 * paid);
});

Deno.test("examples/http.ts answers 503 while the user's lock is held", async () => {
  using directory = new Directory();
  await using server = start(directory, "http.ts", "sqlite:locks.db", "0");
  const address = await addressOf(server);
  await using opened = await openStore(`sqlite:${directory.path}/locks.db`);
  {
    await using _lock = await acquire(opened.store, "user:ada");
    assertEquals(await withdraw(address), 503, `${server}`);
  }
  assertEquals(await withdraw(address), 200, `${server}`);
});

Deno.test("examples/deno_deploy.ts never overdraws although a user asks several times", async () => {
  using directory = new Directory();
  await using server = new Program(directory, "deno_deploy.ts", ["kv.db", "0"]);
  const address = await addressOf(server);
  const ask = () => answered(`${address}/users/ada/withdraw/30`, { method: "POST" });
  const statuses = (await Promise.all(Array.from({ length: 6 }, ask))).map(({ status }) => status);
  assertEquals(statuses.sort(), [200, 200, 200, 409, 409, 409], `${server}`);
});

Deno.test("examples/deno_deploy.ts writes the report once, whoever asks for it", async () => {
  using directory = new Directory();
  await using server = new Program(directory, "deno_deploy.ts", ["kv.db", "0"]);
  const address = await addressOf(server);
  const ask = async () => await (await fetch(`${address}/report`, { method: "POST" })).text();
  const said = await Promise.all([ask(), ask(), ask()]);
  assertEquals(said.filter((each) => each === "the report is written").length, 1, `${said} ${server}`);
  assertEquals(await ask(), "the report is already written");
});

Deno.test("examples/deno_deploy_upstash.ts writes a report once, whoever asks for it", async () => {
  using directory = new Directory();
  await using redis = await RedisServer.start();
  await using front = new RestFront(redis.port);
  const env = { UPSTASH_REDIS_REST_URL: front.url, UPSTASH_REDIS_REST_TOKEN: front.token };
  await using first = new Program(directory, "deno_deploy_upstash.ts", ["0"], [], env);
  await using second = new Program(directory, "deno_deploy_upstash.ts", ["0"], [], env);
  const addresses = [await addressOf(first), await addressOf(second)];
  const ask = async (i: number) => (await answered(`${addresses[i % 2]}/2026-01-31`)).text;
  const said = new Set(await Promise.all([0, 1, 2, 3].map(ask)));
  const [text = ""] = said;
  assert(
    said.size === 1 && /^The report of 2026-01-31, written under fence \d{16}\n$/.test(text),
    `${[...said]} ${first}`,
  );
  assertEquals(await ask(1), text);
  assertEquals(await redis.leftovers(), ["example:reports:2026-01-31"]);
});

Deno.test("examples/queue_worker.ts does each job once, and three at most at the same time", async () => {
  using directory = new Directory();
  await using first = start(directory, "queue_worker.ts");
  await using second = start(directory, "queue_worker.ts");
  for (const program of [first, second]) assertEquals(await program.status(), 0, `${program}`);
  const done = [...(first.output + second.output).matchAll(/^job (\d+) is done/gm)].map(([, id]) => Number(id));
  assertEquals(done.sort((a, b) => a - b), Array.from({ length: 12 }, (_, index) => index + 1));

  using database = new DatabaseSync(`${directory.path}/example_jobs.db`);
  const jobs = database.prepare("SELECT began, done FROM jobs").all();
  assertEquals(jobs.length, 12);
  for (const { began } of jobs) {
    const running = jobs.filter((job) => Number(job["began"]) <= Number(began) && Number(began) < Number(job["done"]));
    assert(running.length <= 3, `${running.length} jobs ran at the same time`);
  }
});

/** Returns the invoices that programs have charged, in their order. */
function charged(programs: readonly Program[]): number[] {
  const output = programs.map(({ output }) => output).join("");
  return [...output.matchAll(/^invoice (\d+) is charged/gm)].map(([, id]) => Number(id)).sort();
}

Deno.test("examples/invoices.ts charges each invoice once in two processes", withPostgres!, async () => {
  using directory = new Directory();
  await using server = await PostgresServer.start();
  await using first = start(directory, "invoices.ts", server.url);
  await using second = start(directory, "invoices.ts", server.url);
  for (const program of [first, second]) assertEquals(await program.status(), 0, `${program}`);
  assertEquals(charged([first, second]), [1, 2, 3, 4], `${first}${second}`);
});

Deno.test(
  "examples/invoices.ts writes nothing in a worker that was paused past its lease",
  withPostgres!,
  () =>
    replayed(async () => {
      using directory = new Directory();
      await using server = await PostgresServer.start();
      const locks = `sqlite:${directory.path}/locks.db`;
      const flags = permissionsOf(locks);
      await using first = new Program(directory, "invoices.ts", [server.url, locks], flags);
      await first.printed("charging invoice 1 ");
      first.kill("SIGSTOP");
      await using second = new Program(directory, "invoices.ts", [server.url, locks], flags);
      assertEquals(await second.status(), 0, `${second}`);
      // It may have been paused between two invoices, when this process was held up.
      if (first.output.includes("is charged")) return `${first}`;
      first.kill("SIGCONT");
      assertEquals(await first.status(), 0, `${first}`);
      assertEquals(charged([first, second]), [1, 2, 3, 4], `${first}${second}`);
      assert(/^invoice \d is left to another worker: Lost lock/m.test(first.output), `${first}`);
      return undefined;
    }),
);

Deno.test("examples/observer.ts tells of a slow wait and of a lost lock", () =>
  replayed(async () => {
    using directory = new Directory();
    await using program = start(directory, "observer.ts");
    assertEquals(await program.status(), 0, `${program}`);
    // A grant may come too late for its lease of 100 ms, and is asked for again.
    if (/^fault: /m.test(program.output)) return `${program}`;
    assert(/^slow: .*"invoice:42"$/m.test(program.output), `${program}`);
    assert(/^lost \(expired\): "report": Lost lock "report"/m.test(program.output), `${program}`);
    assert(program.output.includes("the report is stopped\n"), `${program}`);
    const counts = JSON.parse(program.output.trimEnd().split("\n").at(-1)!);
    assertEquals([counts.acquired, counts.waiting, counts.lost], [3, 1, 1], `${program}`);
    return undefined;
  }));

Deno.test("examples/fenced_update.ts refuses the write of a stale holder", async () => {
  using directory = new Directory();
  await using program = start(directory, "fenced_update.ts");
  assertEquals(await program.status(), 0, `${program}`);
  const verdicts = [...program.output.matchAll(/^fence \d+ writes "(.*)": (.*)$/gm)].map((match) => match.slice(1));
  assertEquals(verdicts, [["paid", "accepted"], ["cancelled", "refused"], ["archived", "accepted"]]);
  assert(program.output.endsWith("the invoice is archived\n"), `${program}`);
});

Deno.test("examples/long_job.ts stops when its lock is lost", async () => {
  using directory = new Directory();
  await using program = start(directory, "long_job.ts");
  assertEquals(await program.status(), 0, `${program}`);
  assert(program.output.includes("stopped: the lock is lost"), `${program}`);
  assert(!program.output.includes("page 10 of 10"), `${program}`);
});

Deno.test("examples/sigterm.ts releases its lock, or stops waiting, when it is stopped", async () => {
  using directory = new Directory();
  await using first = start(directory, "sigterm.ts");
  await first.printed("working");
  // Both at once: it works for 10 s only.
  await using second = start(directory, "sigterm.ts");
  await using third = start(directory, "sigterm.ts");
  await second.printed("waiting");
  second.kill("SIGTERM");
  assertEquals(await second.status(), 143, `${second}`);
  assert(!second.output.includes("working"), `${second}`);

  await third.printed("waiting");
  first.kill("SIGINT");
  const stopped = performance.now();
  assertEquals(await first.status(), 130, `${first}`);
  assert(first.output.includes("stopped by SIGINT"), `${first}`);
  await third.printed("working");
  // The lease of the first one would have lasted for 30 s.
  const waited = performance.now() - stopped;
  assert(waited < 20_000, `the next one had the lock after ${waited} ms`);
});
