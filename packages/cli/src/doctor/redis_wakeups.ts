import { reason } from "@holdfast/lock/authors";
import { type ExaminableClient, refusal, sendMessage } from "./redis_access.ts";
import { SystemClock } from "../time/clock.ts";
import { LATE, within } from "../time/within.ts";
import { type Finding, ok, warning } from "./finding.ts";
import type { LockAdvice } from "./lock_cycle.ts";

/** Advice about locks that do not work. */
export const ADVICE: LockAdvice = {
  failed: (message) => /ACL SETUSER/.test(message) ? "Give the user the right that the message names." : undefined,
  unwoken: "Look at what lies between here and the server, and how many clients that accepts.",
};

/** How long a message may take, in milliseconds. */
const MESSAGE_MS = 3_000;

/** The way of messages to a client. */
export interface MessagePath {
  readonly name: string;
  /** How often waiters poll without messages. */
  readonly polls: string;
}

const SECOND_CONNECTION: MessagePath = { name: "second connection", polls: "after up to 5 s" };

/** Examines whether waiters can be woken. */
export async function examineWakeups(client: ExaminableClient, path = SECOND_CONNECTION): Promise<Finding> {
  const { received, close } = sendMessage(client);
  try {
    await within(MESSAGE_MS, received, new SystemClock());
    return ok("wake-up", `a message came over the ${path.name}`, "Waiters are woken.");
  } catch (error) {
    return unwoken(error, refusal(client, error), path);
  } finally {
    close();
  }
}

function unwoken(error: unknown, refusal: string | undefined, { name, polls }: MessagePath): Finding {
  const words = error === LATE
    ? `no message came over the ${name} within ${MESSAGE_MS / 1_000} s`
    : `the ${name} failed: ${reason(error)}`;
  return warning(
    "wake-up",
    refusal ?? words,
    `Waiters are not woken: each finds out by asking again, ${polls}.`,
    ADVICE.failed(refusal ?? words) ?? ADVICE.unwoken,
  );
}
