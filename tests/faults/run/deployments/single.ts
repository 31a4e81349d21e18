import { RedisServer } from "../../../support/redis_server.ts";
import { ProcessClock } from "../../../support/process_clock.ts";
import { TcpProxy } from "../../../support/tcp_proxy.ts";
import { DataDirectory } from "../directory.ts";
import { durable, empty } from "../redis/data.ts";
import { type Fault, pause } from "../fault.ts";
import { freezing } from "../freezing.ts";
import { redisLeft } from "../redis/left.ts";
import { answers, commandFaults, killing } from "../redis/server_faults.ts";
import { REQUEST, TRAITS } from "../redis/traits.ts";
import type { Deployment } from "../deployment.ts";

/** How far the server's clock is set, in milliseconds: more than a lease, at the most. */
const SHIFT = [100, 3_000] as const;

/** Starts one server that keeps its data on disk. */
export async function single(): Promise<Deployment & { readonly server: RedisServer }> {
  await using stack = new AsyncDisposableStack();
  const clock = stack.use(await ProcessClock.make());
  const { path } = stack.use(new DataDirectory());
  const server = stack.use(await RedisServer.start(durable(path), clock.env));
  const proxy = stack.use(await TcpProxy.start(server.port));
  // A fence from a clock that is ahead is only known where it is kept: while it is ahead nothing may get lost.
  let aheadUntil = 0;
  // A fence that was lost is only outdone by a clock that has gone on since: it is not set back right after a loss.
  let lostAt = -Infinity;
  const ward = { servers: () => Promise.resolve([server]), mayLose: () => performance.now() > aheadUntil };
  const faults = [
    ...commandFaults(ward),
    freezing(ward, false, () => answers(server)),
    killing(ward),
    killing(ward, () => empty(path)),
  ];
  const noted = faults.map((fault) => fault.breach ? noting(fault, () => lostAt = performance.now()) : fault);
  const mayBeBehind = () => performance.now() > lostAt + SHIFT[1];
  noted.push(clockSet(clock, mayBeBehind, (until) => aheadUntil = until));
  const owned = stack.move();
  return {
    target: ([port]) => ({ kind: "single", port: port! }),
    ports: [server.port],
    proxies: [proxy],
    request: REQUEST,
    traits: TRAITS,
    faults: noted,
    server,
    left: () => redisLeft([server]),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Returns the same fault, after which `note` is called. */
function noting(fault: Fault, note: () => void): Fault {
  return {
    ...fault,
    async inject(random, over, endBreach) {
      try {
        return await fault.inject(random, over, endBreach);
      } finally {
        note();
      }
    },
  };
}

/** Returns the fault that sets a clock. A jump ahead ends leases, and so does the return from a jump back. */
function clockSet(clock: ProcessClock, mayBeBehind: () => boolean, ahead: (until: number) => void): Fault {
  return {
    kind: "clock set",
    where: "servers",
    breach: true,
    async inject(random, over) {
      const [distance, direction] = [random.spread(...SHIFT), random.pick([-1, 1])];
      const ms = mayBeBehind() ? distance * direction : distance;
      ahead(Infinity);
      clock.shift(ms);
      await pause(random.spread(10, 2_000), over);
      clock.shift(0);
      ahead(performance.now() + Math.max(ms, 0) + 1_000);
      return true;
    },
  };
}
