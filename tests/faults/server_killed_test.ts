// Deno only: it listens on ports in the place of a server.
import { assertEquals } from "@std/assert";
import { deadline, delay } from "@std/async";
import { redis } from "@holdfast/lock/redis";
import type { Redis } from "ioredis";
import { attempt, release, renew } from "../../src/stores/redis/scripts/generated.ts";
import { DenoProcess } from "../support/deno_process.ts";
import { closed, RedisServer } from "../support/redis_server.ts";
import type { End, Plan } from "./phases.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";
import { HANG_MS, until } from "../support/until.ts";

/** How long the process may run, in milliseconds: every call settles much earlier. */
const RUN_LIMIT = 120_000;

/** How long a server that comes back stays away, in milliseconds: a few of the client's attempts to connect. */
const DOWN = 300;

/**
 * How long the locks are leased, in milliseconds: a lease is over soon when its server stays down, and not before it is
 * back, however long that takes on a loaded machine. And how often they are renewed. The first is also how long the
 * process waits when the server stays down: less than the 10 s for which faults are retried.
 */
const [LEASE, LONG_LEASE, RENEW] = [6_000, 20_000, 200];

/** How long they are held, in milliseconds: less than their leases, and much longer. */
const [SHORT, LONG] = [100, 60_000];

/** A little longer than a release is retried in the background, in milliseconds. */
const GIVING_BACK = 5_900;

/** The holder of the lock when the process is to wait for it. */
const OTHER = { name: "a", owner: "other", mode: "exclusive", lease: 60_000 } as const;

/** A server, the network before it, and a client that does not use that network. */
interface Fixture {
  readonly server: RedisServer;
  readonly proxy: TcpProxy;
  readonly direct: Redis;
}

/** In what a server can be killed, and how the lock ends then. */
interface Phase {
  /** Whether the lock is somebody else's at first. */
  readonly busy: boolean;
  /** How long the process holds the lock, unless that is lost, in milliseconds. */
  readonly hold: number;
  /** Whether a request to a server that stays down is pending until the process ends. */
  readonly patient: boolean;
  /** Resolves when the process is in this phase. */
  readonly reached: (fixture: Fixture) => Promise<void>;
  /** How its lock ends when the server comes back without any data, and when it stays down. */
  readonly ends: readonly [returned: End, down: End];
}

const PHASES: Record<string, Phase> = {
  attempting: {
    busy: false,
    hold: SHORT,
    patient: false,
    reached: ({ proxy }) => proxy.stallReply(attempt.sha),
    ends: ["released", "store"],
  },
  subscribing: {
    busy: true,
    hold: SHORT,
    patient: false,
    reached: ({ proxy }) => proxy.stallReply("subscribe"),
    ends: ["released", "timeout"],
  },
  waiting: {
    busy: true,
    hold: SHORT,
    patient: false,
    reached: (fixture) => queued(fixture),
    ends: ["released", "timeout"],
  },
  claiming: {
    busy: true,
    hold: SHORT,
    patient: true,
    reached: async (fixture) => {
      await queued(fixture);
      const claimed = fixture.proxy.stallReply(attempt.sha);
      await redis(fixture.direct).release(OTHER);
      await claimed;
    },
    ends: ["released", "timeout"],
  },
  holding: {
    busy: false,
    hold: LONG,
    patient: false,
    reached: ({ direct }) => until(async () => await direct.exists("lock:a") === 1, "the lock is held"),
    ends: ["lost", "lost"],
  },
  renewing: {
    busy: false,
    hold: LONG,
    patient: false,
    reached: ({ proxy }) => proxy.stallReply(renew.sha),
    ends: ["lost", "lost"],
  },
  releasing: {
    busy: false,
    hold: SHORT,
    patient: false,
    reached: ({ proxy }) => proxy.stallReply(release.sha),
    ends: ["released", "store"],
  },
};

for (const returns of [true, false]) {
  const fate = returns ? "comes back" : "stays down";
  Deno.test(`acquire() and Lock survive a server that is killed at any time and ${fate}`, async () => {
    await using stack = new AsyncDisposableStack();
    const phases = Object.values(PHASES);
    const fixtures = await Promise.all(phases.map(async ({ busy }) => {
      const server = stack.use(await RedisServer.start());
      const proxy = stack.use(await TcpProxy.start(server.port));
      const direct = server.connect();
      if (busy) await direct.set("lock:a", OTHER.owner, "PX", OTHER.lease);
      return { server, proxy, direct };
    }));
    const kills = Promise.all(fixtures.map(async (fixture, i) => {
      const { server, proxy, direct } = fixture;
      await phases[i]!.reached(fixture);
      await closed(direct);
      if (!returns) proxy.refuse();
      await server.kill();
      if (!returns) return;
      await delay(DOWN);
      await server.start();
    }));
    kills.catch(() => {}); // Reported below, after what the process says.

    const plan: Plan = {
      fixtures: phases.map(({ hold, patient }, i) => ({
        port: fixtures[i]!.proxy.port,
        hold,
        patient: returns || patient,
      })),
      lease: returns ? LONG_LEASE : LEASE,
      renew: RENEW,
      wait: returns ? HANG_MS : LEASE,
      linger: returns ? 0 : LEASE + GIVING_BACK,
    };
    const process = stack.use(new DenoProcess(import.meta.resolve("./phases.ts"), JSON.stringify(plan)));
    const output = await deadline(process.output(), RUN_LIMIT);
    await deadline(kills, RUN_LIMIT);
    const ends: End[] = JSON.parse(output);
    const expected = Object.entries(PHASES).map(([name, { ends }]) => `${name}: ${ends[returns ? 0 : 1]}`);
    assertEquals(Object.keys(PHASES).map((name, i) => `${name}: ${ends[i]}`), expected);
  });
}

async function queued({ direct }: Fixture): Promise<void> {
  await until(async () => await direct.zcard("{lock:a}:queue") === 1, "the process is queued");
}
