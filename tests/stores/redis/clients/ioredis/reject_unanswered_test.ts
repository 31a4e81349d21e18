// Deno only: it cuts connections before a reply.
import { assertRejects } from "@std/assert";
import { redis } from "@holdfast/lock/redis";
import { inTime } from "../../../../support/in_time.ts";
import { HANG_MS } from "../../../../support/until.ts";
import { RedisServer } from "../../../../support/redis_server.ts";
import { TcpProxy } from "../../../../support/tcp_proxy.ts";
import { OF_IOREDIS } from "./libraries.ts";

for (const [library, Client] of Object.entries(OF_IOREDIS)) {
  Deno.test(`Store.query() rejects when a cut-off command is not sent again: ${library}`, async () => {
    await using server = await RedisServer.start();
    await using proxy = await TcpProxy.start(server.port);
    const options = { autoResendUnfulfilledCommands: false, retryStrategy: () => 10 };
    const client = server.adopt(new Client({ port: proxy.port, host: "127.0.0.1", ...options }));
    await client.ping();
    const lost = proxy.loseReply("scan");
    const listed = inTime(redis(client).query(), HANG_MS, "an answer");
    await Promise.all([lost, assertRejects(() => listed, Error, "Connection is closed.")]);
    await redis(client).query();
  });
}
