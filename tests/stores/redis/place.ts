import type { RedisClient } from "@holdfast/lock";
import type { StoreFixture } from "@holdfast/testing";
import { serverStore } from "../../support/server_store.ts";

/** A server, as each runtime starts it. */
interface Server extends AsyncDisposable {
  start(): Promise<void>;
  kill(): Promise<void>;
  leftovers(): Promise<string[]>;
}

/** Starts a server for a test of the store suite, which connects to it in this way. */
export async function place<S extends Server>(
  start: () => Promise<S>,
  connect: (server: S) => RedisClient | Promise<RedisClient>,
): Promise<StoreFixture> {
  const server = await start();
  return {
    connect: async () => serverStore(await connect(server)),
    leftovers: () => server.leftovers(),
    restart: async () => {
      await server.kill();
      await server.start();
    },
    close: async () => await server[Symbol.asyncDispose](),
  };
}
