// Deno only: it allows no fault of a server that is slow, for which five runtimes at once are too busy.
import { acquire, type LockEvent } from "@holdfast/lock";
import { redlock } from "@holdfast/lock/redlock";
import { assertEquals } from "@std/assert";
import { RedisServer } from "../support/redis_server.ts";
import { until } from "../support/until.ts";
import { connectAs, RULE } from "../stores/redis/rights.ts";

Deno.test("redlock() needs no other rights on its nodes than a lock on one server", async () => {
  await using stack = new AsyncDisposableStack();
  const servers = await Promise.all([0, 1, 2].map(() => RedisServer.start()));
  for (const server of servers) stack.use(server);
  const admins = servers.map((server) => server.connect());
  const rules = Object.values(RULE).flat();
  const clients = await Promise.all(servers.map((server, i) => connectAs(server, admins[i]!, "app", rules)));
  const events: LockEvent[] = [];
  // Long: that a node is slow would be a fault.
  const store = redlock(clients, { nodeTimeout: 10_000, observer: (event) => events.push(event) });

  const first = await acquire(store, "lock");
  const second = acquire(store, "lock");
  await until(() => events.some(({ type }) => type === "waiting"), "the second one waits");
  await first.release();
  {
    await using lock = await second;
    // A node that has lost the lock is restored.
    await admins[0]!.del("lock:lock");
    await lock.extend();
    await until(async () => await admins[0]!.exists("lock:lock") === 1, "the node has the lock again");
  }
  await using one = await acquire(store, "shared", { mode: "shared" });
  await using two = await acquire(store, "shared", { mode: "shared" });
  await Promise.all([one.extend(20_000), two.extend(20_000)]);
  assertEquals(events.filter(({ type }) => ["fault", "lost", "warning"].includes(type)), []);
});
