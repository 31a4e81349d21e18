// Deno only: it starts a server.
import type { Redis } from "ioredis";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { type Backend, cas } from "@holdfast/lock/cas";
import { storeSuite } from "@holdfast/testing";
import { backendSuite } from "./backend_suite.ts";
import { patient } from "../support/patient.ts";
import { redisDocuments } from "../support/redis_backend.ts";
import { RedisServer } from "../support/redis_server.ts";

/** Returns the behaviours about crowds, on a server of their own. */
function crowds(backend: (redis: Redis) => Backend<string | undefined>): (readonly [string, () => Promise<void>])[] {
  const behaviours: (readonly [string, () => Promise<void>])[] = [];
  storeSuite({
    test: (name, run) => behaviours.push([name, run]),
    capabilities: ["shared", "permits", "owner", "steal", "evict", "fences"],
    open: async () => {
      const server = await RedisServer.start();
      return { connect: () => patient(cas(backend(server.connect()))), close: () => server[Symbol.asyncDispose]() };
    },
  });
  return behaviours.filter(([name]) => /at once|many callers/.test(name));
}

/** Keeps documents over WATCH and MULTI on the only connection: each transaction ends the watches of other calls. */
function interleaved(redis: Redis): Backend<string | undefined> {
  const right = redisDocuments(redis);
  return {
    ...right,
    async write(name, text, version) {
      const key = `document:${name}`;
      await redis.watch(key);
      const found = await right.read(name);
      if (found.version !== version) {
        await redis.unwatch();
        return { written: false, found };
      }
      const id = crypto.randomUUID();
      const done = await redis.multi().set(key, id + text).exec();
      return done === null ? { written: false } : { written: true, version: id };
    },
  };
}

for (const [name, run] of crowds(redisDocuments)) Deno.test(`cas() on a script of Redis: ${name}`, run);

backendSuite<string | undefined>((what, run) => {
  Deno.test(`redisDocuments() ${what}`, async () => {
    await using server = await RedisServer.start();
    await run(() => redisDocuments(server.connect()));
  });
}, { lists: false });

Deno.test("storeSuite() refuses WATCH and MULTI over one connection for all calls", async () => {
  const [[, run] = []] = crowds(interleaved).filter(([name]) => name.includes("several names"));
  assert(run !== undefined, "the behaviour is there");
  await assertRejects(run, Error, "expected: each name is granted once");
});

Deno.test("docs/writing_a_store.md shows the backend on Redis that is tested", () => {
  const read = (file: string) => Deno.readTextFileSync(new URL(`../../${file}`, import.meta.url));
  const blocks = read("docs/writing_a_store.md").matchAll(/^```ts ignore\n([^]*?)^```$/gm);
  const shown = Array.from(blocks, ([, code]) => code).filter((code) => code!.includes('from "ioredis"'));
  assertEquals(shown, [read("tests/support/redis_backend.ts")]);
});
