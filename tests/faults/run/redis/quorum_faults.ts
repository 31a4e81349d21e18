import { lockKeys } from "../../../../src/stores/redis/keys/keys.ts";
import { retake } from "../../../../src/stores/redis/scripts/generated.ts";
import type { RedisServer } from "../../../support/redis_server.ts";
import type { TcpProxy } from "../../../support/tcp_proxy.ts";
import type { Random } from "../../../simulation/kernel/random.ts";
import { now } from "../../../verification/history/history.ts";
import { type Fault, pause } from "../fault.ts";
import { look } from "./look.ts";

/** How long the replies of a node are held back, in leases: longer than the time between two renewals. */
const HELD_BACK = [0.4, 0.55] as const;

/** How long after the loss of a lock its holder may restore it, in leases: after its next renewal. */
const RESTORED = 0.5;

/** How long the restoration of a lock is held back, in leases: so that the holder looks, and does not renew. */
const OVERTAKEN = [0.15, 0.25] as const;

/** How long nothing happens afterwards, in leases: the lock is granted again, and is held for a while. */
const REST = [0.4, 1] as const;

/** How often it is looked whether the lock is back, in milliseconds. */
const LOOKED = 20;

/** How long a counter of fences is kept, in milliseconds: longer than a run. */
const KEPT = 86_400_000;

/**
 * KEYS: all keys of a lock, that of the fence last. ARGV: how long the fence is kept. Leaves what another owner leaves
 * that took the lock here and released it: nothing but a larger counter. Replies: 1 if somebody had the lock, else 0.
 */
const PASS = `
local had = redis.call('EXISTS', KEYS[1])
local time = redis.call('TIME')
local last = tonumber(string.match(redis.call('GET', KEYS[#KEYS]) or '', '^%d+')) or 0
local fence = math.max(last + 1, time[1] * 1000000 + time[2])
redis.call('DEL', unpack(KEYS, 1, #KEYS - 1))
redis.call('SET', KEYS[#KEYS], string.format('%.0f', fence), 'PX', ARGV[1])
return had
`;

/** A lock on independent nodes, and one process that acquires it. */
export interface Quorum {
  /** The nodes. */
  readonly servers: readonly RedisServer[];
  /** The ways of the process to the nodes, in the same order. Nothing else happens to them. */
  readonly proxies: readonly TcpProxy[];
  readonly lock: string;
  /** The lease of the lock, in milliseconds. */
  readonly lease: number;
  /** Is told a node on which the lock was restored although others had it, and on a second node as well. */
  readonly putBack: (node: number) => void;
}

/**
 * Loses the lock on two nodes; the holder finds out on the way to the first one. Resolves to whether it was lost on
 * both.
 */
type Run = (
  first: RedisServer,
  second: RedisServer,
  way: TcpProxy,
  random: Random,
  over: AbortSignal,
) => Promise<boolean>;

/**
 * Returns the faults in which others ask a node that has lost a lock, before its holder restores it there; and the lock
 * is lost on a second node. What is restored then may have been granted to others, and is reported.
 *
 * Others ask the first node once more after the lock was lost on the second one. From then on nobody may restore it on
 * the first one: what was sent before finds another counter, and whoever looks later finds no majority that has it.
 */
export function quorumFaults({ servers, proxies, lock, lease, putBack }: Quorum): Fault[] {
  const keys = lockKeys(`lock:${lock}`);
  const holder = async (server: RedisServer) => String(await server.command("GET", keys[0])).split(" ").at(-1)!;
  const has = async (server: RedisServer, id: string) => {
    const evaluator = { eval: (...words: [string, ...(string | number)[]]) => server.command("EVAL", ...words) };
    // One that does not answer shows nothing.
    return (await look(evaluator, lock, [id]).catch(() => undefined))?.present;
  };
  const pass = (server: RedisServer) => server.command("EVAL", PASS, keys.length, ...keys, KEPT);
  const fault = (kind: string, run: Run): Fault => ({
    kind,
    // The process is the one that the faults of clients leave alone.
    where: "client left alone",
    breach: true,
    async inject(random, over, endBreach) {
      const first = random.integer(0, servers.length - 1);
      const second = (first + random.integer(1, servers.length - 1)) % servers.length;
      const [server, way] = [servers[first]!, proxies[first]!];
      let lost: string | undefined;
      try {
        const id = await holder(server);
        // A holder in another process, to which nothing happens, may have restored it before it was lost on the second
        // node: then it has it on a majority again.
        if (await run(server, servers[second]!, way, random, over) && await pass(server) === 0) lost = id;
      } catch {
        // Something else happens to one of the servers.
        return false;
      } finally {
        way.forget();
        way.resume();
        endBreach();
      }
      for (const end = now() + lease * random.between(...REST); now() < end && !over.aborted;) {
        if (lost !== undefined && await has(server, lost)) {
          putBack(first);
          lost = undefined;
        }
        await pause(LOOKED, over);
      }
      return true;
    },
  });
  return [
    // Whoever restores it without a look at the counter and at the other nodes does so too late.
    fault("loss known late", async (first, second, way, random, over) => {
      way.disturb({ replies: "hold" });
      await pass(first);
      await pause(lease * random.between(...HELD_BACK), over);
      await pass(second);
      return true;
    }),
    // What has looked at the nodes is executed late: the counter must still be the same then.
    fault("lock restored late", async (first, second, way, random, over) => {
      const held = way.holdRequest(retake.sha).then(() => true, () => false);
      await first.command("DEL", ...keys.slice(0, -1));
      if (!await Promise.race([held, pause(lease * RESTORED, over).then(() => false)])) return false;
      await pass(first);
      await pause(lease * random.between(...OVERTAKEN), over);
      await pass(second);
      return true;
    }),
  ];
}
