import { showDuration } from "../display/duration.ts";
import { type Finding, ok, warning } from "./finding.ts";

/** How long a transaction of a client that is gone may keep its rows, in milliseconds. */
const LONG_MS = 60_000;

/**
 * Judges how soon the server ends a transaction whose client is gone without a word. What the program's own client does
 * then is not known here.
 *
 * @param limits what ends it, by name, and after how many milliseconds; 0 if it never does
 */
export function judgeLostConnection(limits: Readonly<Record<string, number>>, advice: string): Finding {
  const found = Object.entries(limits).map(([name, ms]) => `${name} ${ms > 0 ? showDuration(ms) : "off"}`).join(", ");
  const after = Math.min(...Object.values(limits).map((ms) => ms > 0 ? ms : Infinity));
  if (after <= LONG_MS) {
    return ok("lost-connection", found, "A transaction whose client the network has lost keeps its rows no longer.");
  }
  return warning(
    "lost-connection",
    found,
    "Where the network loses the client of a transaction in silence, its rows stay locked " +
      `${
        after === Infinity ? "without end" : `for ${showDuration(after)}`
      }: guard() of the next holder waits for them.`,
    advice,
  );
}
