import type { RedisServer } from "../../support/redis_server.ts";
import type { TcpProxy } from "../../support/tcp_proxy.ts";
import type { Fault } from "./fault.ts";
import type { Nat, Target } from "./work.ts";

/** A deployment of servers that the locks of a run are kept on, and what can happen to it. */
export interface Deployment extends AsyncDisposable {
  /** Returns what clients connect to that reach the servers, in the order of the proxies, at other ports. */
  target(ports: readonly number[]): Target;
  /** The ports of the servers themselves, in the same order. */
  readonly ports: readonly number[];
  /** The ways to the servers that all processes share. */
  readonly proxies: readonly TcpProxy[];
  /** What can happen to the servers. */
  readonly faults: readonly Fault[];
  /** Returns where keys could be left. */
  masters(): Promise<readonly RedisServer[]>;
}

/** Returns how the ways to servers replace the servers. */
export function nat(servers: readonly RedisServer[], ports: readonly number[]): Nat {
  return Object.fromEntries(
    servers.map(({ port }, i) => [`127.0.0.1:${port}`, { host: "127.0.0.1", port: ports[i]! }]),
  );
}

/** Returns the keys that are left, without fences, and the connections of clients that have gone. */
export async function leaks(deployment: Deployment): Promise<{ keys: string[]; connections: string[] }> {
  const masters = await deployment.masters();
  const keys = (await Promise.all(masters.map((server) => server.leftovers()))).flat();
  const lists = await Promise.all(masters.map((server) => server.command("CLIENT", "LIST")));
  // All but the one that asks, other servers and Sentinels.
  const connections = lists.flatMap((list) => String(list).trim().split("\n")).filter((line) => {
    return !/ cmd=client(\|list)? /.test(line) && !/ flags=[^ ]*[SM]/.test(line) && !/ name=sentinel-/.test(line);
  });
  return { keys, connections };
}
