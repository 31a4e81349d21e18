import type { Random } from "../../simulation/random.ts";
import type { Manners } from "../tcp_link.ts";
import type { TcpProxy } from "../tcp_proxy.ts";
import { type Fault, pause } from "./fault.ts";

/** How long the network is disturbed, in milliseconds: less than a lease, or more. */
const DURATION = [50, 3_000] as const;

/** What networks do; each to the way to one server, or to all of them at once. */
export function networkFaults(proxies: readonly TcpProxy[]): Fault[] {
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
    disturbance("trickle", (random) => random.chance(0.5) ? { requests: "trickle" } : { replies: "trickle" }),
    fault("half-open", () => (proxy) => proxy.halfOpen()),
    fault("connections cut", () => (proxy) => proxy.cut()),
    replyLost(proxies),
  ];
}

/** The server does what it is asked, and the connection is cut instead of a reply. */
function replyLost(proxies: readonly TcpProxy[]): Fault {
  return {
    kind: "reply lost",
    where: "network",
    breach: false,
    async inject(random, over) {
      const proxy = random.pick(proxies);
      const lost = proxy.loseReply("evalsha").then(() => true, () => false);
      const struck = await Promise.race([lost, pause(1_000, over).then(() => false)]);
      proxy.forget();
      return struck;
    },
  };
}

function some(proxies: readonly TcpProxy[], random: Random): readonly TcpProxy[] {
  return random.chance(0.5) ? proxies : [random.pick(proxies)];
}
