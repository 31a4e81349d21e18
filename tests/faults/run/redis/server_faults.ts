import type { Random } from "../../../simulation/kernel/random.ts";
import type { RedisServer } from "../../../support/redis_server.ts";
import { until } from "../../../support/until.ts";
import { type Fault, pause, serverFault } from "../fault.ts";

/** What the faults of servers are about. */
export interface Ward {
  /** The servers that something may happen to. */
  readonly servers: (random: Random) => Promise<readonly RedisServer[]>;
  /** Whether data may be lost at the moment. */
  readonly mayLose?: () => boolean;
}

/** Returns what operators and other clients do to servers that keep running. */
export function commandFaults({ servers, mayLose = () => true }: Ward): Fault[] {
  const fault = (
    kind: string,
    breach: boolean,
    run: (server: RedisServer, random: Random, over: AbortSignal) => Promise<unknown>,
  ): Fault =>
    serverFault(kind, breach, async (random, over) => {
      if (breach && !mayLose()) return false;
      await run(random.pick(await servers(random)), random, over);
      return true;
    });
  return [
    fault("SCRIPT FLUSH", false, (server) => server.command("SCRIPT", "FLUSH")),
    fault("FLUSHALL", true, (server) => server.command("FLUSHALL")),
    fault("CLIENT KILL", false, (server, random) => {
      return server.command("CLIENT", "KILL", "TYPE", random.pick(["normal", "pubsub"]));
    }),
    fault("CLIENT PAUSE", false, async (server, random, over) => {
      const ms = Math.ceil(random.spread(10, 2_500));
      await server.command("CLIENT", "PAUSE", ms, random.pick(["ALL", "WRITE"]));
      await pause(ms, over);
    }),
    fault("out of memory", false, async (server, random, over) => {
      await server.command("CONFIG", "SET", "maxmemory-policy", "noeviction");
      await server.command("CONFIG", "SET", "maxmemory", 1);
      await pause(random.spread(10, 2_500), over);
      await server.command("CONFIG", "SET", "maxmemory", 0);
    }),
    fault("eviction", true, async (server, random, over) => {
      const used = Number(/used_memory:(\d+)/.exec(String(await server.command("INFO", "memory")))?.[1]);
      await server.command("CONFIG", "SET", "maxmemory-policy", "allkeys-random");
      await server.command("CONFIG", "SET", "maxmemory", used - 1_000);
      await pause(random.spread(10, 500), over);
      await server.command("CONFIG", "SET", "maxmemory", 0);
    }),
  ];
}

/** Returns the fault that kills the process of a server, and starts it again with the data that it had, or without. */
export function killing({ servers, mayLose = () => true }: Ward, wipe?: (server: RedisServer) => Promise<void>): Fault {
  const breach = wipe !== undefined;
  return serverFault(breach ? "server wiped" : "server killed", breach, async (random, over) => {
    if (breach && !mayLose()) return false;
    const server = random.pick(await servers(random));
    await server.kill();
    await wipe?.(server);
    await pause(random.spread(10, 1_500), over);
    await server.start();
    await answers(server);
    return true;
  });
}

/**
 * Ends a breach when a server has been promoted, and puts everything in order again. Meanwhile the others may take that
 * one for dead, above all on a loaded machine, and promote another one: what that has not received is lost as well, and
 * the breach has lasted until now.
 *
 * @param epoch returns the number of the last promotion
 * @param endBreach ends the breach
 * @param restore puts everything in order
 */
export async function promoting(
  epoch: () => Promise<number>,
  endBreach: () => void,
  restore: () => Promise<void>,
): Promise<void> {
  const promoted = await epoch();
  endBreach();
  try {
    await restore();
  } finally {
    if (await epoch().catch(() => undefined) !== promoted) endBreach();
  }
}

/** Waits until a server has loaded its data. */
export async function answers(server: RedisServer): Promise<void> {
  await until(async () => await server.command("PING").catch(() => "") === "PONG", "the server answers");
}
