import type { RedisServer } from "../../../support/redis_server.ts";
import type { Nat } from "../work.ts";

/** Returns how the ways to servers replace the servers. */
export function nat(servers: readonly RedisServer[], ports: readonly number[]): Nat {
  return Object.fromEntries(
    servers.map(({ port }, i) => [`127.0.0.1:${port}`, { host: "127.0.0.1", port: ports[i]! }]),
  );
}
