import { RedisServer } from "../../../support/redis_server.ts";
import { RestFront } from "../../../support/rest_front.ts";
import { TcpProxy } from "../../../support/tcp_proxy.ts";
import { DataDirectory } from "../directory.ts";
import { durable, empty } from "../redis/data.ts";
import { freezing } from "../freezing.ts";
import { redisLeft } from "../redis/left.ts";
import { answers, commandFaults, killing } from "../redis/server_faults.ts";
import { OVER_HTTP, REQUEST, TOKEN, TRAITS } from "../redis/traits.ts";
import type { Deployment } from "../deployment.ts";
import type { ClientName } from "../options.ts";
import { ServerClock } from "../server_clock.ts";

/** Starts one server that keeps its data on disk. */
export async function single(
  client: ClientName = "ioredis",
): Promise<Deployment & { readonly server: RedisServer }> {
  await using stack = new AsyncDisposableStack();
  const clock = stack.use(await ServerClock.make());
  const { path } = stack.use(new DataDirectory());
  const server = stack.use(await RedisServer.start(durable(path), clock.env));
  const front = client === "upstash" ? stack.use(new RestFront(server.port, 0, TOKEN)) : undefined;
  const proxy = stack.use(await TcpProxy.start(front?.port ?? server.port));
  const ward = { servers: () => Promise.resolve([server]), mayLose: clock.mayLose };
  const faults = [
    ...commandFaults(ward),
    freezing(ward, false, () => answers(server)),
    killing(ward),
    killing(ward, () => empty(path)),
  ];
  const owned = stack.move();
  return {
    target: ([port]) => ({ kind: "single", port: port! }),
    ports: [server.port],
    proxies: [proxy],
    request: REQUEST,
    traits: front === undefined ? TRAITS : OVER_HTTP,
    faults: [...faults.map((fault) => clock.noting(fault)), clock.setting()],
    server,
    left: async () => {
      await front?.close(); // It keeps connections.
      return await redisLeft([server]);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
