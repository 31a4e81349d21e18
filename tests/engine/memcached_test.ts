// Deno only: it starts a server, of which the runtime knows nothing.
import { storeSuite } from "@holdfast/testing";
import { assert, assertEquals } from "@std/assert";
import { SystemClock } from "../../src/time/clock.ts";
import { parseDocument } from "../../src/engine/document.ts";
import { cas, CasStore } from "../../src/engine/store.ts";
import { claimOf, grant } from "../support/claims.ts";
import { memcached } from "../support/memcached_backend.ts";
import { findMemcached, MemcachedServer } from "../support/memcached_server.ts";
import { backendSuite } from "./backend_suite.ts";
import { agrees } from "../verification/queue/agrees.ts";
import { patient } from "../support/patient.ts";
import { until } from "../support/until.ts";

const SETTINGS = { maxClockSkew: 10_000, observer: undefined };

const found = findMemcached();
if ("missing" in found) console.log(`the tests on memcached are skipped: ${found.missing}`);

const OPTIONS = { ignore: "missing" in found };

storeSuite({
  test: (name, fn) => Deno.test({ name: `cas() on memcached: ${name}`, fn, ...OPTIONS }),
  capabilities: ["shared", "permits", "owner", "steal", "evict", "fences", "runs"],
  open: async () => {
    const server = await MemcachedServer.start();
    return {
      connect: () => patient(new CasStore(memcached(server.connect()), SETTINGS, new SystemClock())),
      restart: async () => {
        await server.kill();
        await server.start();
      },
      leftovers: async () => (await server.values()).flatMap(namesInUse),
      close: () => server[Symbol.asyncDispose](),
    };
  },
});

/** Starts a server, and defines a test on it. */
function test(name: string, run: (server: MemcachedServer) => Promise<void>): void {
  const fn = async () => {
    await using server = await MemcachedServer.start();
    await run(server);
  };
  Deno.test({ name, fn, ...OPTIONS });
}

function namesInUse(value: string): string[] {
  const text = value.slice(36);
  const { name } = JSON.parse(text);
  return parseDocument(name, text).unused ? [] : [name];
}

Deno.test("docs/writing_a_store.md shows the backend that is tested", () => {
  const read = (file: string) => Deno.readTextFileSync(new URL(`../../${file}`, import.meta.url));
  const blocks = read("docs/writing_a_store.md").matchAll(/^```ts ignore\n([^]*?)^```$/gm);
  const shown = Array.from(blocks, ([, code]) => code).filter((code) => code!.includes("memcache-client"));
  assertEquals(shown, [read("tests/support/memcached_backend.ts")]);
});

test("memcached() refuses a write after a restart although its token is there again", async (server) => {
  const backend = memcached(server.connect());
  const { version } = await backend.read("a");
  const first = await backend.write("a", "1", version, {});
  assert(first.written, "written");
  await server.kill();
  await server.start();
  const other = memcached(server.connect());
  assertEquals(await other.write("a", "2", undefined, {}).then(({ written }) => written), true);
  assertEquals(await backend.write("a", "3", first.version, {}).then(({ written }) => written), false);
  const { casUniq, value } = await backend.read("a") as { readonly casUniq?: string; readonly value?: string };
  assertEquals([casUniq, value], ["1", "2"]);
});

backendSuite<string | undefined>((what, run) => {
  test(`memcached() ${what}`, (server) => run(() => memcached(server.connect())));
}, { lists: false });

test("cas() on memcached tells a holder whose document was evicted that it has lost", async (server) => {
  const [held, next] = [claimOf("a"), claimOf("a")];
  const [holder, other] = [0, 1].map(() => patient(cas(memcached(server.connect()))));
  const fence = await grant(holder!, held);
  for (const key of await server.keys()) await server.command(`delete ${key}`);
  const later = await grant(other!, next);
  assert(later > fence, `${later} > ${fence}`);
  assertEquals(await holder!.renew(held), "lost");
  assertEquals(await other!.renew(next), "renewed");
});

test("cas() on memcached grants what the model of the queue grants", async (server) => {
  await agrees(cas(memcached(server.connect())), { runs: 200, ending: false });
});

test("cas() on memcached lets nothing expire", async (server) => {
  await grant(cas(memcached(server.connect())), claimOf("a", "exclusive", 60_000));
  // The server refuses while its crawler is at work for itself.
  await until(
    async () => /^key=\S+ exp=-1 /m.test(await server.command("lru_crawler metadump hash")),
    "it never expires",
  );
});
