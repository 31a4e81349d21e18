// Deno only: it starts servers, and processes of Deno.
import { assert, assertEquals } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { Redis } from "ioredis";
import { freePort } from "../support/free_port.ts";
import { closed, RedisServer } from "../support/redis_server.ts";
import { textOf } from "../support/test_files.ts";
import { HANG_MS, until } from "../support/until.ts";
import { blocksOf, outputOf, whileRuns } from "./packages/run.ts";

/** How long the first request of a program waits, in milliseconds; the others wait for as long as they may. */
const FIRST_WAIT_MS = 50;

/** The programs of a page, with the ports of the test, and with what only the framework does. */
function programs(page: string, ports: { readonly redis: number; readonly http: number }): string[] {
  return blocksOf(page).map((block) => {
    // The port of HTTP first: that of Redis may contain its digits.
    const code = block.replace("3000", `${ports.http}`).replace("new Redis()", `new Redis(${ports.redis})`)
      .replace("wait: 2_000", `wait: waits.shift() ?? ${HANG_MS}`);
    const isRoute = code.includes("export async function POST");
    // As Next.js calls it, for requests of this method alone.
    const served = isRoute
      ? `Deno.serve({ port: ${ports.http} }, (request) => {
  if (request.method !== "POST") return new Response("", { status: 405 });
  return POST(request, { params: Promise.resolve({ id: "42" }) });
});`
      : "";
    return `const waits = [${FIRST_WAIT_MS}];\n${code}\n${served}`;
  });
}

/** Checks that a server answers 503 when the lock is busy, gives up with its client, and serves the next request. */
async function check(port: number, client: Redis, { hearsClient = true } = {}): Promise<void> {
  const url = `http://127.0.0.1:${port}`;
  const store = redis(client);
  const charge = async (signal?: AbortSignal) => {
    const response = await fetch(`${url}/invoices/42`, { method: "POST", ...signal === undefined ? {} : { signal } });
    return { status: response.status, retry: response.headers.get("retry-after"), text: await response.text() };
  };
  const held = await acquire(store, "invoice:42");
  const listens = () =>
    fetch(url, { method: "OPTIONS" }).then((response) => response.text()).then(() => true, () => false);
  await until(listens, "the server listens", HANG_MS);
  const { status, retry } = await charge();
  assertEquals([status, retry], [503, "2"]);
  if (hearsClient) {
    const gone = new AbortController();
    const waiting = charge(gone.signal).catch(() => "aborted");
    const count = async () => (await store.query({ name: "invoice:42" })).pending.length;
    await until(async () => await count() === 1, "the request waits");
    gone.abort();
    assertEquals(await waiting, "aborted");
    await until(async () => await count() === 0, "its place is given up");
  }
  await held.release();
  const served = await charge();
  assert(served.status === 200 || served.status === 201, served.text);
  assert(/"fence":"\d{16}"|"charged":"42"/.test(served.text), served.text);
  await until(async () => (await store.query()).held.length === 0, "it is released");
}

for (const page of ["express.md", "hono.md", "nestjs.md"]) {
  Deno.test(`docs/recipes/${page} answers 503 when the lock is busy`, async () => {
    await using server = await RedisServer.start();
    const client = new Redis(server.port);
    try {
      const ports = { redis: server.port, http: freePort() };
      const sources = programs(page, ports);
      assert(sources.length >= 1, "the programs were found");
      for (const source of sources) {
        // Nest does not tell a provider of the client.
        await whileRuns(source, () => check(ports.http, client, { hearsClient: page !== "nestjs.md" }));
      }
    } finally {
      await closed(client);
    }
  });
}

Deno.test("docs/recipes/nestjs.md is tested without a server, as the page says", async () => {
  const [program = ""] = blocksOf("nestjs.md");
  const [, override = ""] = /`Test\.createTestingModule\(…\)(.+)`/.exec(textOf("docs/recipes/nestjs.md")) ?? [];
  const [module] = program.split("const app =");
  const lines = await outputOf(`import { memory } from "@holdfast/lock/memory";
import { Test } from "@nestjs/testing";
${module}
const app = await Test.createTestingModule({ imports: [AppModule] })${override}.compile();
console.log(JSON.stringify(await app.get(Invoices).charge("42")), app.get(Locks).redis.capabilities.includes("query"));
`);
  assertEquals(lines, ['{"charged":"42"} true']);
});
