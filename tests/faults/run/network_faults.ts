import type { Random } from "../../simulation/kernel/random.ts";
import type { Manners } from "../../support/tcp_link.ts";
import type { TcpProxy } from "../../support/tcp_proxy.ts";
import { type Fault, pause } from "./fault.ts";

/** How long the network is disturbed, in milliseconds: less than a lease, or more. */
const DURATION = [50, 3_000] as const;

/** How long it is waited that a server is asked something, in milliseconds. */
const ASKED = 500;

/** After how many bytes a reply ends at most that is not lost in whole. */
const WITHIN = 500;

/**
 * Returns the faults of networks; each on the way to one server, or on all of them at once.
 *
 * @param request a text that each request has which changes a lock
 */
export function networkFaults(proxies: readonly TcpProxy[], request: string): Fault[] {
  if (proxies.length === 0) return [];
  const disturbance = (kind: string, manners: (random: Random) => Manners) => {
    return fault(kind, (random) => (proxy) => proxy.disturb(manners(random)));
  };
  const fault = (kind: string, make: (random: Random) => (proxy: TcpProxy) => void): Fault => ({
    kind,
    where: "network",
    breach: false,
    async inject(random, over) {
      const struck = some(proxies, random);
      const strike = make(random);
      for (const proxy of struck) strike(proxy);
      await pause(random.spread(...DURATION), over);
      for (const proxy of struck) proxy.resume();
      return true;
    },
  });
  return [
    disturbance("delay", (random) => ({ requests: random.spread(1, 300), replies: random.spread(1, 300) })),
    disturbance("requests dropped", () => ({ requests: "drop" })),
    disturbance("replies dropped", () => ({ replies: "drop" })),
    fault("half-open", () => (proxy) => proxy.halfOpen()),
    fault("connections cut", () => (proxy) => proxy.cut()),
    replyLost(proxies, request),
  ];
}

/**
 * Returns a fault in which the server executes a command, and the connection is cut instead of a reply, or within it.
 */
export function replyLost(proxies: readonly TcpProxy[], request: string, kind = "reply lost"): Fault {
  return {
    kind,
    where: "network",
    breach: false,
    async inject(random, over) {
      const first = random.integer(0, proxies.length - 1);
      const after = random.chance(0.5) ? 0 : random.integer(1, WITHIN);
      // A server that nobody asks has no reply to lose: such as a replica.
      for (const proxy of [...proxies.slice(first), ...proxies.slice(0, first)]) {
        const lost = proxy.loseReply(request, after).then(() => true, () => false);
        const enough = new AbortController();
        const asked = pause(ASKED, AbortSignal.any([over, enough.signal]));
        const struck = await Promise.race([lost, asked.then(() => false)]);
        enough.abort();
        proxy.forget();
        if (struck || over.aborted) return struck;
      }
      return false;
    },
  };
}

function some(proxies: readonly TcpProxy[], random: Random): readonly TcpProxy[] {
  return random.chance(0.5) ? proxies : [random.pick(proxies)];
}
