import type { Store } from "@holdfast/lock";
import { reason } from "@holdfast/lock/authors";
import { LATE } from "../time/within.ts";
import { error, type Finding } from "./finding.ts";

/** How long a server may take to answer, in milliseconds. */
export const ANSWER_MS = 3_000;

/** Returns a finding for a server that cannot be reached: why, or, if known, what is wrong with its URL. */
export function unreachable({ connectionError }: Store, fault: unknown, diagnosis?: string): Finding {
  const late = `no answer within ${ANSWER_MS / 1_000} s${connectionError ? `: ${connectionError.message}` : ""}`;
  return error(
    "unreachable",
    diagnosis ?? (fault === LATE ? late : reason(fault)),
    "No lock can be acquired there.",
    diagnosis === undefined ? "Look at the address, the password, the network and the server." : "Correct the URL.",
  );
}
