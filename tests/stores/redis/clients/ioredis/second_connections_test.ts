import { assertEquals } from "@std/assert";
import type { IoredisClient, RedisNode, RedisSubscriber } from "../../../../../src/stores/redis/clients/client.ts";
import { POLL_MS } from "../../../../../src/stores/redis/constants.ts";
import { secondConnections } from "../../../../../src/stores/redis/clients/ioredis/second_connections.ts";

/** The options that duplicates were made with. */
interface Made {
  readonly of: string;
  readonly retryStrategy: (times: number) => number | null;
  readonly keyPrefix: string;
}

/** Something that can be duplicated, and only that. */
function original<T extends IoredisClient | RedisNode>(name: string, made: Made[], rest: Partial<T> = {}): T {
  const duplicate = (overrides: Omit<Made, "of">) => {
    made.push({ ...overrides, of: name });
    return {} as RedisSubscriber;
  };
  return { duplicate, ...rest } as unknown as T;
}

Deno.test("secondConnections() returns one for a server, which does not reconnect", () => {
  const made: Made[] = [];
  const connections = secondConnections(original<IoredisClient>("client", made));
  for (const connect of connections) connect();
  assertEquals(made.map((each) => [each.of, each.retryStrategy(2), each.keyPrefix]), [["client", null, ""]]);
});

Deno.test("secondConnections() returns one for each node of a Cluster, connected ones first", () => {
  const orders = new Set<string>();
  for (let i = 0; i < 200; i++) {
    const made: Made[] = [];
    const nodes = ["end", "ready", "wait", "ready"].map((status, i) => original<RedisNode>(`${i}`, made, { status }));
    const client = original<IoredisClient>("client", made, { isCluster: true, nodes: () => nodes });
    for (const connect of secondConnections(client)) connect();
    assertEquals(made.map(({ retryStrategy }) => retryStrategy(1)), [null, null, null, null]);
    orders.add(made.map(({ of }) => of).join(""));
  }
  assertEquals([...orders].sort(), ["1302", "1320", "3102", "3120"]);
});

Deno.test("secondConnections() returns connections that do not begin again by themselves", () => {
  const made: Made[] = [];
  for (const connect of secondConnections(original<IoredisClient>("client", made))) connect();
  const { of: _, retryStrategy, ...options } = made[0]!;
  const { sentinelRetryStrategy, ...rest } = options as typeof options & {
    sentinelRetryStrategy: typeof retryStrategy;
  };
  assertEquals([retryStrategy(1), sentinelRetryStrategy(1)], [null, null]);
  assertEquals(
    { ...rest },
    {
      // The subscription begins anew by itself, and asks before the connection is ready.
      autoResubscribe: false,
      enableAutoPipelining: false,
      enableOfflineQueue: true,
      lazyConnect: false,
      maxRetriesPerRequest: null,
      // The client finds the new master; a server that hangs is left.
      failoverDetector: false,
      commandTimeout: POLL_MS,
      sentinelCommandTimeout: POLL_MS,
      // Channels have no prefix.
      keyPrefix: "",
    } as unknown as typeof rest,
  );
});
