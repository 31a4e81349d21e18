import type { Random } from "../../simulation/random.ts";
import type { RedisServer } from "../../redis_server.ts";
import { until } from "../until.ts";
import { type Fault, pause } from "./fault.ts";

/** What the faults of servers are about. */
export interface Ward {
  /** The servers that something may happen to. */
  readonly servers: (random: Random) => Promise<readonly RedisServer[]>;
  /** Whether data may be lost at the moment. */
  readonly mayLose?: () => boolean;
}

/** What operators and other clients do to servers, which stay as they are otherwise. */
export function commandFaults({ servers, mayLose = () => true }: Ward): Fault[] {
  const fault = (
    kind: string,
    breach: boolean,
    run: (server: RedisServer, random: Random, over: AbortSignal) => Promise<unknown>,
  ): Fault => ({
    kind,
    where: "servers",
    breach,
    async inject(random, over) {
      if (breach && !mayLose()) return false;
      await run(random.pick(await servers(random)), random, over);
      return true;
    },
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

/** The process of a server stands still for a while, at the longest for so many milliseconds. */
export function freezing({ servers }: Ward, breach: boolean, well: () => Promise<void>, longest = 3_000): Fault {
  return {
    kind: "server frozen",
    where: "servers",
    breach,
    async inject(random, over) {
      const server = random.pick(await servers(random));
      server.freeze();
      await pause(random.spread(20, longest), over);
      server.thaw();
      await well();
      return true;
    },
  };
}

/** The process of a server is killed, and started again with the data that it had, or without. */
export function killing({ servers, mayLose = () => true }: Ward, wipe?: (server: RedisServer) => Promise<void>): Fault {
  return {
    kind: wipe === undefined ? "server killed" : "server wiped",
    where: "servers",
    breach: wipe !== undefined,
    async inject(random, over) {
      if (wipe !== undefined && !mayLose()) return false;
      const server = random.pick(await servers(random));
      await server.kill();
      await wipe?.(server);
      await pause(random.spread(10, 1_500), over);
      await server.start();
      await answers(server);
      return true;
    },
  };
}

/** Waits until a server has loaded its data. */
export async function answers(server: RedisServer): Promise<void> {
  await until(async () => await server.command("PING").catch(() => "") === "PONG", "the server answers");
}
