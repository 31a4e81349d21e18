import type { RedisClient } from "../../../../mod.ts";
import { upstash } from "../../../../src/stores/redis/clients/upstash/mod.ts";
import * as ioredis from "ioredis";
import * as ioredis5 from "ioredis5";
import * as iovalkey from "iovalkey";
import * as nodeRedis from "redis";
import * as nodeRedis5 from "redis5";
import type { ClientName } from "../options.ts";
import type { RedisTarget } from "../work.ts";
import { TOKEN } from "./traits.ts";

/** How long a client waits before it connects again, in milliseconds. */
const RETRY_MS = 100;

/** How long the client of a Cluster waits for an answer to where the slots are, in milliseconds. */
const SLOTS_LIMIT_MS = 1_000;

/** How long a patient client of valkey-glide waits for an answer, in milliseconds. */
const GLIDE_TIMEOUT_MS = 5_000;

/** One server, or a deployment of servers. */
type Place = Exclude<RedisTarget, { kind: "redlock" }>;

/** How patient a client is; it waits for as long as its library does where something is left out. */
interface Patience {
  readonly commandTimeout?: number;
  readonly maxRetriesPerRequest?: number;
}

/** A client, and how it is closed. */
interface Opened {
  readonly client: RedisClient;
  close(): unknown;
}

/** Makes a client of a library. */
type Open = (place: Place, patience: Patience) => Opened | Promise<Opened>;

function ofIoredis(library: Pick<typeof ioredis, "Redis" | "Cluster">): Open {
  const make = (place: Place, patience: Patience) => {
    const retryStrategy = () => RETRY_MS;
    const options = { ...patience, retryStrategy };
    switch (place.kind) {
      case "single":
        return new library.Redis(place.port, "127.0.0.1", options);
      case "sentinel": {
        const { sentinels, name, nat: natMap } = place;
        const sentinel = { sentinels: [...sentinels], name, natMap, sentinelRetryStrategy: retryStrategy };
        return new library.Redis({ ...options, ...sentinel, failoverDetector: true });
      }
      case "cluster": {
        const { nodes, nat: natMap } = place;
        const cluster = { natMap, clusterRetryStrategy: retryStrategy, slotsRefreshTimeout: SLOTS_LIMIT_MS };
        return new library.Cluster([...nodes], { ...cluster, redisOptions: patience });
      }
    }
  };
  return (place, patience) => {
    const client = make(place, patience);
    client.on("error", () => {}); // It connects again.
    return { client, close: () => client.disconnect() };
  };
}

function ofNodeRedis(library: Pick<typeof nodeRedis, "createClient" | "createCluster" | "createSentinel">): Open {
  const make = (place: Place, { commandTimeout }: Patience) => {
    const commandOptions = commandTimeout === undefined ? {} : { commandOptions: { timeout: commandTimeout } };
    const socket = { reconnectStrategy: RETRY_MS };
    switch (place.kind) {
      case "single":
        return library.createClient({ ...commandOptions, socket: { ...socket, host: "127.0.0.1", port: place.port } });
      case "sentinel": {
        const { name, sentinels, nat: nodeAddressMap } = place;
        const sentinel = { name, sentinelRootNodes: [...sentinels], nodeAddressMap };
        return library.createSentinel({ ...commandOptions, ...sentinel, nodeClientOptions: { socket } });
      }
      case "cluster": {
        const { nodes, nat: nodeAddressMap } = place;
        const rootNodes = nodes.map((node) => ({ socket: node }));
        return library.createCluster({ ...commandOptions, rootNodes, nodeAddressMap, defaults: { socket } });
      }
    }
  };
  return async (place, patience) => {
    const client = make(place, patience);
    client.on("error", () => {}); // It connects again, but for the first time.
    while (!await client.connect().then(() => true, () => false)) {
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
    return { client, close: () => client.destroy() };
  };
}

function overHttp(place: Place, { commandTimeout }: Patience): Opened {
  if (place.kind !== "single") throw new TypeError(`there is no HTTP to a ${place.kind}`);
  const connections = Deno.createHttpClient({});
  const client = upstash({
    url: `http://127.0.0.1:${place.port}`,
    token: TOKEN,
    fetch: (url, request) => {
      // A subscription lasts.
      const isLimited = commandTimeout !== undefined && !url.includes("/subscribe/");
      const signals = isLimited ? [AbortSignal.timeout(commandTimeout)] : [];
      return fetch(url, { ...request, signal: AbortSignal.any([request.signal, ...signals]), client: connections });
    },
  });
  return { client, close: () => connections.close() };
}

async function ofGlide(place: Place, { commandTimeout = GLIDE_TIMEOUT_MS }: Patience): Promise<Opened> {
  if (place.kind !== "single") throw new TypeError(`valkey-glide is not for a ${place.kind}`);
  const { GlideClient, Logger } = await import("@valkey/valkey-glide"); // Its core is large.
  Logger.setLoggerConfig("off"); // It prints each error.
  const options = {
    addresses: [{ host: "127.0.0.1", port: place.port }],
    requestTimeout: commandTimeout,
    connectionBackoff: { numberOfRetries: 1, factor: RETRY_MS, exponentBase: 1, jitterPercent: 0 },
  };
  for (;;) {
    // It connects again, but for the first time.
    const client = await GlideClient.createClient(options).catch(() => undefined);
    if (client !== undefined) return { client, close: () => client.close() };
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

const OPEN: Readonly<Record<ClientName, Open>> = {
  "ioredis": ofIoredis(ioredis),
  "ioredis5": ofIoredis(ioredis5 as unknown as typeof ioredis),
  "iovalkey": ofIoredis(iovalkey as unknown as typeof ioredis),
  "node-redis": ofNodeRedis(nodeRedis),
  "node-redis5": ofNodeRedis(nodeRedis5 as unknown as typeof nodeRedis),
  "valkey-glide": ofGlide,
  "upstash": overHttp,
};

/** The clients of a process. */
export class Clients {
  readonly #opened: Opened[] = [];

  /** Returns a client of this library for each independent server, or for a deployment of servers. */
  async connect(library: ClientName, target: RedisTarget, patience: Patience): Promise<RedisClient[]> {
    const places = target.kind === "redlock"
      ? target.ports.map((port) => ({ kind: "single" as const, port }))
      : [target];
    return await Promise.all(places.map(async (place) => {
      const opened = await OPEN[library](place, patience);
      this.#opened.push(opened);
      return opened.client;
    }));
  }

  /** Closes all of them. */
  close(): void {
    for (const opened of this.#opened) void opened.close();
  }
}
