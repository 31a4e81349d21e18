import { MemcachedServer } from "../../../support/memcached_server.ts";
import { TcpProxy } from "../../../support/tcp_proxy.ts";
import type { Deployment } from "../deployment.ts";
import { freezing } from "../freezing.ts";
import { POLLED_ENGINE } from "../engine_traits.ts";
import { clockFaults, LostFences } from "../clock_faults.ts";
import { memcachedLeft } from "../memcached/left.ts";
import { losses } from "../memcached/server_faults.ts";
import { WorkerClocks } from "../worker_clocks.ts";

/** As little memory as there can be, of which no part is moved from values of one size to others later on. */
const SETTINGS = ["-m", "1", "-I", "512k", "-o", "slab_automove=0"];

/** Starts a memcached server, on which the engine runs in several processes. */
export async function memcached(locks: readonly string[]): Promise<Deployment> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await MemcachedServer.start(SETTINGS));
  const proxy = stack.use(await TcpProxy.start(server.port));
  const clocks = stack.use(await WorkerClocks.make({ shared: false }));
  const fences = new LostFences();
  const ward = { server, locks, mayLose: () => fences.mayLose(), lost: () => fences.lost() };
  const owned = stack.move();
  return {
    target: ([port]) => ({ kind: "memcached", port: port! }),
    ports: [server.port],
    proxies: [proxy],
    request: "cas holdfast:",
    clocks,
    // A caller with a short wait goes by the end that the holder has written, and by `maxClockSkew`.
    traits: { ...POLLED_ENGINE, succession: { leases: 1, ms: 12_000, byClocks: true } },
    faults: [freezing({ servers: () => Promise.resolve([server]) }, false, () => Promise.resolve()), ...losses(ward)],
    userFaults: ({ crew }) => clockFaults(clocks, crew, fences, true),
    left: () => memcachedLeft(server, locks),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
