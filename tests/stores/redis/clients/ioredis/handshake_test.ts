// Deno only: it cuts connections in the handshake.
import { assertEquals } from "@std/assert";
import { redis } from "@holdfast/lock/redis";
import { inTime } from "../../../../support/in_time.ts";
import { RedisServer } from "../../../../support/redis_server.ts";
import { TcpProxy } from "../../../../support/tcp_proxy.ts";
import { HANG_MS, until } from "../../../../support/until.ts";
import { OF_IOREDIS } from "./libraries.ts";
import { selections } from "./selections.ts";

for (const [library, Client] of Object.entries(OF_IOREDIS)) {
  Deno.test(`redis() asks again when a connection is cut in the handshake: ${library}`, async () => {
    await using server = await RedisServer.start();
    await using proxy = await TcpProxy.start(server.port);
    proxy.disturb({ replies: "drop" });
    const client = server.adopt(new Client({ port: proxy.port, host: "127.0.0.1", db: 3, retryStrategy: () => 10 }));
    await new Promise((resolve) => client.once("connect", () => resolve(undefined)));
    const listed = redis(client).query();
    await until(async () => await selections(server) === 2, "the client and the store have selected the database");
    proxy.resume();
    assertEquals((await inTime(listed, HANG_MS, "an answer")).held, []);
  });
}
