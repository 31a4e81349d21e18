import { assertEquals } from "@std/assert";
import type { Redis } from "ioredis";
import { RedisServer } from "../../../tests/support/redis_server.ts";
import { until } from "../../../tests/support/until.ts";

/** Servers, and a client of each; nothing may be left on them. */
export interface Place extends AsyncDisposable {
  /** One client for each server. */
  readonly clients: readonly Redis[];
  /** Makes other clients of the same servers. */
  connect(): Redis[];
  /** Resolves once each server has this value under a key; the id of a round of votes behind it does not count. */
  has(key: string, value: string | undefined): Promise<void>;
}

/** Starts servers. */
export async function place(count = 1): Promise<Place> {
  const servers = await Promise.all(Array.from({ length: count }, () => RedisServer.start()));
  const connect = () => servers.map((server) => server.connect());
  const clients = connect();
  return {
    clients,
    connect,
    async has(key, value) {
      const hasIt = async () => {
        const values = await Promise.all(clients.map((client) => client.get(key)));
        return values.every((each) => each?.split(":")[0] === value);
      };
      await until(hasIt, `${key} is ${value} on each server`);
    },
    async [Symbol.asyncDispose]() {
      const left = await Promise.all(servers.map((server) => server.leftovers()));
      for (const server of servers) await server[Symbol.asyncDispose]();
      assertEquals(left.flat(), []);
    },
  };
}
