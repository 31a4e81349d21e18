import type { RedisServer } from "../../redis_server.ts";
import type { TcpProxy } from "../tcp_proxy.ts";
import type { Fault } from "./fault.ts";
import type { Nat, Target } from "./work.ts";

/** A deployment of servers that the locks of a run are kept on, and what can happen to it. */
export interface Site extends AsyncDisposable {
  readonly target: Target;
  /** The ways to the servers. */
  readonly proxies: readonly TcpProxy[];
  /** What can happen to the servers. */
  readonly faults: readonly Fault[];
  /** What cannot happen here, and why. */
  readonly skipped: readonly string[];
  /** Where keys could be left. */
  masters(): Promise<readonly RedisServer[]>;
}

/** How the ways to servers replace the servers. */
export function nat(servers: readonly RedisServer[], proxies: readonly TcpProxy[]): Nat {
  return Object.fromEntries(
    servers.map(({ port }, i) => [`127.0.0.1:${port}`, { host: "127.0.0.1", port: proxies[i]!.port }]),
  );
}

/** The keys that are left, without fences, and the connections of clients that have gone. */
export async function leaks(site: Site): Promise<{ keys: string[]; connections: string[] }> {
  const masters = await site.masters();
  const keys = (await Promise.all(masters.map((server) => server.leftovers()))).flat();
  const lists = await Promise.all(masters.map((server) => server.command("CLIENT", "LIST")));
  // All but the one that asks, other servers and Sentinels.
  const connections = lists.flatMap((list) => String(list).trim().split("\n")).filter((line) => {
    return !/ cmd=client(\|list)? /.test(line) && !/ flags=[^ ]*[SM]/.test(line) && !/ name=sentinel-/.test(line);
  });
  return { keys, connections };
}
