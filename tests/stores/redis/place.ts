import type { RedisClient } from "@holdfast/lock";
import type { StoreFixture } from "@holdfast/testing";
import { RedisServer } from "../../support/redis_server.ts";
import { serverStore } from "../../support/server_store.ts";

/** Starts a server for a test of the store suite, which connects to it in this way. */
export async function place(connect: (server: RedisServer) => RedisClient): Promise<StoreFixture> {
  const server = await RedisServer.start();
  return {
    connect: () => serverStore(connect(server)),
    leftovers: () => server.leftovers(),
    restart: async () => {
      await server.kill();
      await server.start();
    },
    close: () => server[Symbol.asyncDispose](),
  };
}
