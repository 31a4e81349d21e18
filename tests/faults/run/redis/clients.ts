import { Cluster, Redis, type RedisOptions } from "npm:ioredis@^6";
import type { RedisTarget } from "../work.ts";

/** A client of one server, or of a deployment of servers. */
type Client = Redis | Cluster;

/** How long the client of a Cluster waits for an answer to where the slots are, in milliseconds. */
const SLOTS_LIMIT_MS = 1_000;

/** The clients of a process. */
export class Clients {
  readonly #clients: Client[] = [];

  /** Returns one client for each independent server, or deployment of servers. */
  connect(target: RedisTarget, options: Omit<RedisOptions, "replyMapping">): Client[] {
    const retryStrategy = () => 100;
    switch (target.kind) {
      case "single":
        return [this.#adopt(new Redis(target.port, "127.0.0.1", { ...options, retryStrategy }))];
      case "redlock":
        return target.ports.map((port) => this.#adopt(new Redis(port, "127.0.0.1", { ...options, retryStrategy })));
      case "sentinel": {
        const { sentinels, name, nat: natMap } = target;
        const sentinel = { sentinels: [...sentinels], name, natMap, sentinelRetryStrategy: retryStrategy };
        return [this.#adopt(new Redis({ ...options, retryStrategy, ...sentinel, failoverDetector: true }))];
      }
      case "cluster": {
        const { nodes, nat: natMap } = target;
        const cluster = { natMap, clusterRetryStrategy: retryStrategy, slotsRefreshTimeout: SLOTS_LIMIT_MS };
        return [this.#adopt(new Cluster([...nodes], { ...cluster, redisOptions: options }))];
      }
    }
  }

  /** Closes all of them. */
  disconnect(): void {
    for (const client of this.#clients) client.disconnect();
  }

  #adopt<T extends Client>(client: T): T {
    client.on("error", () => {}); // It connects again.
    this.#clients.push(client);
    return client;
  }
}
