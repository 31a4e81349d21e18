import type { Random } from "../../simulation/kernel/random.ts";
import type { TcpProxy } from "../../support/tcp_proxy.ts";
import { type Fault, pause } from "./fault.ts";
import type { Ways } from "./ways.ts";

/**
 * How long the replies to a process are held back, in leases: so that a renewal is sent meanwhile and answered before
 * the end of the lease, and of an impatient client's time; or after it.
 */
const [LATE, TOO_LATE] = [[0.36, 0.66], [0.9, 1.6]] as const;

/** How long a process is cut off, in leases: others get its locks before it is connected again. */
const CUT_OFF = [1.05, 1.4] as const;

/**
 * Returns what happens between single processes and the servers, in times that are measured by the lease, in
 * milliseconds.
 */
export function clientFaults(ways: readonly Ways[], lease: number): Fault[] {
  // One of several is left alone: it gets the locks meanwhile.
  const struck = ways.length > 1 ? ways.slice(1) : ways;
  return struck.flatMap(({ proxies }, i) => proxies.length === 0 ? [] : faultsOf(proxies, lease, `client ${i}`));
}

/** Returns the faults of one process. */
function faultsOf(proxies: readonly TcpProxy[], lease: number, where: string): Fault[] {
  type Run = (struck: readonly TcpProxy[], random: Random, over: AbortSignal) => Promise<void>;
  const fault = (kind: string, run: Run): Fault => ({
    kind,
    where,
    breach: false,
    async inject(random, over) {
      const struck = some(proxies, random);
      try {
        await run(struck, random, over);
      } finally {
        for (const proxy of struck) proxy.resume();
      }
      return true;
    },
  });
  const disturb = (struck: readonly TcpProxy[], manners: Parameters<TcpProxy["disturb"]>[0]) => {
    for (const proxy of struck) proxy.disturb(manners);
  };
  const cutOff = fault("replies late and cut off", async (struck, random, over) => {
    disturb(struck, { replies: "hold" });
    await pause(lease * random.between(...LATE), over);
    disturb(struck, { requests: "hold", replies: "pass" });
    await pause(lease * random.between(...CUT_OFF), over);
  });
  return [
    // What is trusted from when the late reply came, and not from when the request was sent, is trusted for too long.
    cutOff,
    // More often than the others, because it shows most.
    cutOff,
    cutOff,
    fault("replies too late", async (struck, random, over) => {
      disturb(struck, { replies: "hold" });
      await pause(lease * random.between(...TOO_LATE), over);
    }),
    fault("slow replies", async (struck, random, over) => {
      disturb(struck, { replies: lease * random.between(LATE[0], TOO_LATE[1]) });
      await pause(lease * random.between(1, 2), over);
    }),
    fault("cut off", async (struck, random, over) => {
      disturb(struck, { requests: "hold" });
      await pause(lease * random.between(...CUT_OFF), over);
    }),
  ];
}

/** Returns all of the ways of a process, or all but one, or only one. */
function some(proxies: readonly TcpProxy[], random: Random): readonly TcpProxy[] {
  const one = random.pick(proxies);
  return random.pick([proxies, proxies.length > 1 ? proxies.filter((proxy) => proxy !== one) : proxies, [one]]);
}
