// Deno only: it starts processes of Deno, and servers.
import { assert, assertEquals } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { RedisServer } from "../support/redis_server.ts";
import { holdfast } from "./cli_process.ts";

Deno.test("holdfast refuses a database that the server does not have, with every verb", async () => {
  await using server = await RedisServer.start(["--databases", "4"]);
  const lock = await acquire(server.connect(), "a");
  const store = `redis://127.0.0.1:${server.port}/99`;
  const verbs = [["ls"], ["show", "a"], ["evict", "a", "--yes"], ["wait", "a"], ["run", "a", "--", "true"]];
  const results = await Promise.all(verbs.map((args) => holdfast(args, { store })));
  for (const { status, out, err } of results) {
    assertEquals([status, out], [69, ""], err);
    assert(err.includes("the server refuses database 99: ERR DB index is out of range"), err);
  }
  const { status, out } = await holdfast(["doctor", "--quiet"], { store });
  assertEquals(status, 1);
  assert(/^error {2}lock: .*the server refuses database 99: /m.test(out), out);
  assert(lock.held, "the lock in database 0 is not touched");
  await lock.extend();
  await lock.release();
});
