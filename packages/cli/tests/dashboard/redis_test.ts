import { assert, assertEquals } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { dashboard } from "@holdfast/cli/dashboard";
import { RedisServer } from "../../../../tests/support/redis_server.ts";
import { until } from "../../../../tests/support/until.ts";
import { HOSTILE_NAMES } from "./hostile_names.ts";
import { confirm, eventsOf, namesIn, openConfirmation, textOf, visit } from "./visit.ts";

Deno.test("dashboard(client) shows a lock on Redis live, and evicts its holder", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  using pages = dashboard(client, { evict: true, refresh: 100 });
  const events = eventsOf(await visit(pages, "/events/lock?name=invoice%3A42"));
  assertEquals((await events.next("view"))["summary"], "Held by nobody; 0 handles waiting.");
  const lock = await acquire(server.connect(), "invoice:42", { lease: 3_600_000, strict: false });
  assert((await events.next("view"))["html"]!.includes("1 holder"), "the holder is shown");
  const response = await confirm(pages, "invoice:42", await openConfirmation(pages, "invoice:42"));
  assertEquals(response.headers.get("location"), "/lock?name=invoice%3A42&evicted=1");
  await until(() => lock.signal.aborted, "the holder is notified");
  await events.cancel();
  await lock.release().catch(() => {});
});

Deno.test("dashboard(client) shows hostile names on Redis, each a lock of its own", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const locks = await Promise.all(HOSTILE_NAMES.map((name) => acquire(client, name)));
  using pages = dashboard(client);
  const text = await textOf(pages, "/");
  assertEquals(namesIn(text), [...HOSTILE_NAMES].sort());
  assertEquals(text.match(/<script/g)?.length, 1);
  await Promise.all(locks.map((lock) => lock.release()));
});

Deno.test("dashboard(client) says that Redis is away, and goes on when it is back", async () => {
  await using server = await RedisServer.start();
  const client = server.connect({ maxRetriesPerRequest: 0 });
  using pages = dashboard(client, { refresh: 100 });
  const events = eventsOf(await visit(pages, "/events/list"));
  await events.next("view");
  await server.kill();
  assert((await events.next("fault"))["message"]!.startsWith("The store did not answer"), "a fault");
  assertEquals((await visit(pages, "/")).status, 503);
  await server.start();
  await events.next("view");
  await events.cancel();
});
