// Deno only: it listens on ports in the place of a server.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { RedisServer } from "./redis_server.ts";
import { TcpProxy } from "./tcp_proxy.ts";
import { until } from "./until.ts";

/** A client that neither connects again nor sends again, so that a test sees what becomes of its connection. */
const ONCE = { retryStrategy: null, maxRetriesPerRequest: 0 } as const;

Deno.test("TcpProxy.disturb() delays without changing anything", async () => {
  await using server = await RedisServer.start();
  await using proxy = await TcpProxy.start(server.port);
  const client = proxy.connect();
  await client.ping();
  const text = "abcdefghij".repeat(20);
  proxy.disturb({ requests: 100, replies: 100 });
  const started = performance.now();
  await Promise.all([client.set("a", text), client.get("a"), client.incr("b")]);
  assert(performance.now() - started >= 199, "both ways were slow");
  const slow = client.get("a");
  proxy.resume();
  assertEquals(await slow, text);
});

Deno.test("TcpProxy.disturb() drops one way, and resume() cuts what has lost bytes", async () => {
  await using server = await RedisServer.start();
  await using proxy = await TcpProxy.start(server.port);
  const [client, admin] = [proxy.connect(ONCE), server.connect()];
  await client.ping();
  proxy.disturb({ replies: "drop" });
  const incremented = assertRejects(() => client.incr("a"), Error);
  await until(async () => await admin.get("a") === "1", "the request has arrived");
  assertEquals(client.status, "ready");
  proxy.resume();
  await incremented;
  await until(() => client.status === "end", "the connection is cut");
});

Deno.test("TcpProxy.holdRequest() holds a request and what follows until resume()", async () => {
  await using server = await RedisServer.start();
  await using proxy = await TcpProxy.start(server.port);
  const [held, other] = [proxy.connect(), proxy.connect()];
  await Promise.all([held.ping(), other.ping()]);
  const came = proxy.holdRequest("struck");
  await held.set("a", "before");
  const answers = Promise.all([held.set("a", "struck"), held.set("b", "after")]);
  await came;
  assertEquals(await other.mget("a", "b"), ["before", null]);
  proxy.resume();
  await answers;
  assertEquals(await other.mget("a", "b"), ["struck", "after"]);
});

Deno.test("TcpProxy.redirect() cuts connections, and leads the next ones elsewhere", async () => {
  await using one = await RedisServer.start();
  await using other = await RedisServer.start();
  await using proxy = await TcpProxy.start(one.port);
  const client = proxy.connect({ retryStrategy: () => 10 });
  await client.set("a", "on the first");
  proxy.redirect(other.port);
  await until(async () => await client.get("a").catch(() => "cut") === null, "it is led to the other one");
  assertEquals(await one.connect().get("a"), "on the first");
});

Deno.test("TcpProxy.halfOpen() notifies neither end when the other one closes", async () => {
  await using server = await RedisServer.start();
  await using proxy = await TcpProxy.start(server.port);
  const [client, admin] = [proxy.connect(), server.connect()];
  const connections = async () => String(await admin.client("LIST")).trim().split("\n").length - 1;
  await client.ping();
  proxy.halfOpen();
  client.disconnect();
  await new Promise((resolve) => client.once("end", resolve));
  const later = proxy.connect();
  await later.ping();
  assertEquals(await connections(), 2);
  proxy.resume();
  await until(async () => await connections() === 1, "the vanished client is gone for the server as well");
  await later.ping();
});

Deno.test("TcpProxy.cut() cuts every connection, and lets new ones through", async () => {
  await using server = await RedisServer.start();
  await using proxy = await TcpProxy.start(server.port);
  const client = proxy.connect();
  await client.ping();
  const again = new Promise((resolve) => client.once("close", resolve));
  proxy.cut();
  await again;
  await client.ping();
});
