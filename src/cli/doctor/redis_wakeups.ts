import { SystemClock } from "../../internal/time/clock.ts";
import { LATE, within } from "../../internal/lease/release.ts";
import { reason } from "../../internal/reason.ts";
import { type ExaminedClient, refusal, sendMessage } from "../../stores/redis/doctor_access.ts";
import { type Finding, ok, warning } from "./finding.ts";
import type { LockAdvice } from "./lock_cycle.ts";

/** What to do about locks that do not work. */
export const ADVICE: LockAdvice = {
  failed: (message) => /ACL SETUSER/.test(message) ? "Give the user the right that the message names." : undefined,
  unwoken: "Look at what lies between here and the server, and how many clients that accepts.",
};

/** How long a message may take, in milliseconds. */
const MESSAGE_MS = 3_000;

/** Examines whether waiters can be woken. */
export async function examineWakeups(client: ExaminedClient): Promise<Finding> {
  const { received, close } = sendMessage(client);
  try {
    await within(MESSAGE_MS, received, new SystemClock());
    const found = "a message came over the second connection";
    return ok("wake-up", found, "Waiters are woken.");
  } catch (error) {
    return unwoken(error, refusal(client, error));
  } finally {
    close();
  }
}

function unwoken(error: unknown, refusal: string | undefined): Finding {
  const words = error === LATE
    ? `no message came over the second connection within ${MESSAGE_MS / 1_000} s`
    : `the second connection failed: ${reason(error)}`;
  return warning(
    "wake-up",
    refusal ?? words,
    "Waiters are not woken: each finds out by asking again, after up to 5 s.",
    ADVICE.failed(refusal ?? words) ?? ADVICE.unwoken,
  );
}
