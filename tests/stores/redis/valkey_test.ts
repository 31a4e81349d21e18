// Deno only: it tries another server, of which the runtime knows nothing.
import { storeSuite } from "@holdfast/testing";
import { assert } from "@std/assert";
import { RedisServer } from "../../support/redis_server.ts";
import { findValkey } from "../../support/valkey.ts";
import { place } from "./place.ts";

const valkey = findValkey();
if ("missing" in valkey) console.log(`the tests on Valkey are skipped: ${valkey.missing}`);
const ignore = "missing" in valkey;
const start = () => RedisServer.start([], { REDIS_SERVER: "program" in valkey ? valkey.program : "" });

storeSuite({
  test: (name, fn) => Deno.test({ name: `redis on Valkey: ${name}`, ignore, fn }),
  capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"],
  open: () => place(start, (server) => server.connect()),
});

Deno.test({
  name: "findValkey() finds a server that is Valkey",
  ignore,
  fn: async () => {
    await using server = await start();
    assert(String(await server.command("INFO", "server")).includes("server_name:valkey"));
  },
});
