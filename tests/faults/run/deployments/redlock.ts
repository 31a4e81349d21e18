import { RedisServer } from "../../../support/redis_server.ts";
import type { Random } from "../../../simulation/kernel/random.ts";
import { TcpProxy } from "../../../support/tcp_proxy.ts";
import { now } from "../../../verification/history/history.ts";
import { DataDirectory } from "../directory.ts";
import { durable, empty } from "../redis/data.ts";
import { freezing } from "../freezing.ts";
import { redisLeft } from "../redis/left.ts";
import { quorumFaults } from "../redis/quorum_faults.ts";
import { answers, commandFaults, killing } from "../redis/server_faults.ts";
import { REQUEST, TRAITS } from "../redis/traits.ts";
import type { Deployment } from "../deployment.ts";

/** How many servers there are. */
const NODES = 3;

/** Independent servers that keep their data on disk. */
export async function redlock(): Promise<Deployment> {
  await using stack = new AsyncDisposableStack();
  const nodes = await Promise.all(Array.from({ length: NODES }, async () => {
    const { path } = stack.use(new DataDirectory());
    const server = stack.use(await RedisServer.start(durable(path)));
    const proxy = stack.use(await TcpProxy.start(server.port));
    return { server, proxy, path };
  }));
  const servers = nodes.map(({ server }) => server);
  const proxies = nodes.map(({ proxy }) => proxy);
  const ward = { servers: (_: Random) => Promise.resolve(servers) };
  const wipe = async (server: RedisServer) => await empty(nodes.find((node) => node.server === server)!.path);
  const well = async () => void await Promise.all(servers.map(answers));
  const owned = stack.move();
  return {
    target: (ports) => ({ kind: "redlock", ports }),
    ports: servers.map(({ port }) => port),
    proxies,
    request: REQUEST,
    // Redlock grants no runs.
    traits: { ...TRAITS, runs: false },
    faults: [...commandFaults(ward), freezing(ward, false, well), killing(ward), killing(ward, wipe)],
    userFaults: ({ crew, ways, lease, kept: lock }) => {
      const putBack = (node: number) => void crew.ledger.putBack.push({ lock, at: now(), node });
      return quorumFaults({ servers, proxies: ways[0]!.proxies, lock, lease, putBack });
    },
    left: () => redisLeft(servers),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
