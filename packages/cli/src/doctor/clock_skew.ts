import { reason } from "@holdfast/lock/authors";
import { elapsed, SystemClock } from "../time/clock.ts";
import { LATE, within } from "../time/within.ts";
import { type Finding, named, verdicts, warning } from "./finding.ts";
import { ANSWER_MS } from "./unreachable.ts";

const CLOCK = new SystemClock();

/** How often the clock is read: the reading with the shortest trip counts. */
const READINGS = 5;

/** The difference to this machine's clock that is worth a warning, in milliseconds. */
const WARN_MS = 1_000;

/** How far the clocks of a quorum may be apart, in milliseconds: the default of its option `maxClockSkew`. */
const QUORUM_LIMIT_MS = 10_000;

/** The clock of a server that answers. */
export interface ServerClock {
  /** The name of the server in findings. */
  readonly label: string;
  /** Resolves to the time of the server, in milliseconds since 1970. */
  now(): Promise<number>;
}

/** How far a server's clock is ahead of this machine's clock, with the uncertainty, in milliseconds. */
interface Skew {
  readonly ms: number;
  readonly uncertainty: number;
}

/** Compares the clocks of servers with this machine's clock, and the clocks of a quorum with each other. */
export async function examineClocks(clocks: readonly ServerClock[], quorum: boolean): Promise<Finding[]> {
  const findings: Finding[] = [];
  const skews: Skew[] = [];
  for (const clock of clocks) {
    try {
      const skew = await within(ANSWER_MS, readSkew(clock), CLOCK);
      skews.push(skew);
      findings.push(named(judgeSkew(skew), clock.label));
    } catch (fault) {
      findings.push(named(unread(fault), clock.label));
    }
  }
  return quorum && skews.length > 1 ? [...findings, judgeQuorumSkew(skews)] : findings;
}

/** Reads the clock of a server and compares it with this machine's clock. */
async function readSkew(clock: ServerClock): Promise<Skew> {
  let best: Skew = { ms: 0, uncertainty: Infinity };
  for (let reading = 0; reading < READINGS; reading++) {
    const sent = CLOCK.now();
    const server = await clock.now();
    const trip = elapsed(sent, CLOCK.now());
    if (trip / 2 < best.uncertainty) best = { ms: server - (sent.wall + trip / 2), uncertainty: trip / 2 };
  }
  return best;
}

const judged = verdicts({
  "clock": {
    ok: ["The clocks agree."],
    warning: [
      "Leases do not depend on it. Fences do after the server was replaced by one whose clock is behind, and " +
      "ages that are shown are wrong by as much.",
      "Synchronize the clocks of all machines (NTP).",
    ],
  },
  "clocks-apart": {
    ok: ["Less than maxClockSkew (10 s)."],
    error: [
      "Fences beyond maxClockSkew (10 s by default) are refused: locks cannot be acquired, or a fence may fall.",
      "Synchronize the clocks of the servers (NTP).",
    ],
  },
});

function unread(fault: unknown): Finding {
  return warning(
    "clock",
    `the server did not tell its time: ${fault === LATE ? `no answer within ${ANSWER_MS / 1_000} s` : reason(fault)}`,
    "It is not known whether its clock and that of this machine agree.",
    "See the message.",
  );
}

/** Judges the difference between a server's clock and this machine's. */
function judgeSkew({ ms, uncertainty }: Skew): Finding {
  const found =
    `the server's clock is ${Math.abs(Math.round(ms))} ms ${ms < 0 ? "behind" : "ahead of"} this machine's, ` +
    `± ${Math.ceil(uncertainty)} ms`;
  return judged("clock", Math.abs(ms) - uncertainty < WARN_MS ? "ok" : "warning", found);
}

/** Judges the differences between the clocks of a quorum. */
function judgeQuorumSkew(skews: readonly Skew[]): Finding {
  const all = skews.map(({ ms }) => ms);
  const apart = Math.max(...all) - Math.min(...all);
  const found = `the clocks of the servers are ${Math.round(apart)} ms apart`;
  return judged("clocks-apart", apart < QUORUM_LIMIT_MS ? "ok" : "error", found);
}
