import { elapsed, SystemClock } from "../../internal/time/clock.ts";
import { error, type Finding, ok, warning } from "./finding.ts";
import type { RedisProbe } from "./redis_info.ts";

const CLOCK = new SystemClock();

/** How often the clock is read: the shortest trip says most. */
const READINGS = 5;

/** From so many milliseconds on, a difference to this machine is worth a warning. */
const WARN_MS = 1_000;

/** How far the clocks of a quorum may be apart, in milliseconds: the default of its option `maxClockSkew`. */
const QUORUM_LIMIT_MS = 10_000;

/** How far a server's clock is ahead of this machine's, in milliseconds, and how far that may be wrong. */
export interface Skew {
  readonly ms: number;
  readonly uncertainty: number;
}

/** Reads the clock of a server beside that of this machine. */
export async function readSkew(probe: RedisProbe): Promise<Skew> {
  let best: Skew = { ms: 0, uncertainty: Infinity };
  for (let reading = 0; reading < READINGS; reading++) {
    const sent = CLOCK.now();
    const [seconds, microseconds] = await probe.call("TIME") as [string | number, string | number];
    const trip = elapsed(sent, CLOCK.now());
    const server = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
    if (trip / 2 < best.uncertainty) best = { ms: server - (sent.wall + trip / 2), uncertainty: trip / 2 };
  }
  return best;
}

/** Judges the clock of one server. */
export function judgeSkew({ ms, uncertainty }: Skew): Finding {
  const found =
    `the server's clock is ${Math.abs(Math.round(ms))} ms ${ms < 0 ? "behind" : "ahead of"} this machine's, ` +
    `± ${Math.ceil(uncertainty)} ms`;
  if (Math.abs(ms) - uncertainty < WARN_MS) {
    return ok("clock", found, "The clocks agree.");
  }
  return warning(
    "clock",
    found,
    "Leases do not depend on it. Fences do after the server was replaced by one whose clock is behind, and " +
      "ages that are shown are wrong by as much.",
    "Synchronize the clocks of all machines (NTP).",
  );
}

/** Judges the clocks of a quorum beside each other. */
export function judgeQuorumSkew(skews: readonly Skew[]): Finding {
  const all = skews.map(({ ms }) => ms);
  const apart = Math.max(...all) - Math.min(...all);
  const found = `the clocks of the servers are ${Math.round(apart)} ms apart`;
  if (apart < QUORUM_LIMIT_MS) {
    return ok("clocks-apart", found, "Less than maxClockSkew (10 s).");
  }
  return error(
    "clocks-apart",
    found,
    "Fences beyond maxClockSkew (10 s by default) are refused: locks cannot be acquired, or a fence may fall.",
    "Synchronize the clocks of the servers (NTP).",
  );
}
