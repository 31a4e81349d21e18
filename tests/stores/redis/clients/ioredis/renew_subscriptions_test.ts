// Deno only: it cuts connections within a reply.
import { assertEquals } from "@std/assert";
import { acquire, tryAcquire } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { TcpProxy } from "../../../../support/tcp_proxy.ts";
import { testOnServer } from "../../on_server.ts";

/** How many bytes of the replies to SUBSCRIBE arrive: more than the first one has, and less than both. */
const FIRST_REPLY = 35;

testOnServer("tryAcquire() gets its own answer after cuts between two replies to SUBSCRIBE", async ({ server }) => {
  await using proxy = await TcpProxy.start(server.port);
  const [held, free] = [await acquire(server.connect(), "a"), "b"];
  const client = proxy.connect({ retryStrategy: () => 10 });
  const store = redis(client);
  await (await acquire(store, free)).release();
  const cut = proxy.loseReply("subscribe", FIRST_REPLY);
  const subscribed = client.subscribe("news", "weather");
  await cut;
  // It is sent again, and cut off again.
  await proxy.loseReply("subscribe", FIRST_REPLY);
  const others = [client.get("one"), tryAcquire(store, free), tryAcquire(store, "a"), client.get("two")] as const;
  const [one, ofFree, ofHeld, two] = await Promise.all(others);
  assertEquals([one, ofFree?.name, ofHeld, two], [null, free, null, null]);
  assertEquals(await subscribed, 2);
  await Promise.all([ofFree!.release(), held.release()]);
});
