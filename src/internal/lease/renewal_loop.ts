import { calledOrAborted } from "../time/aborted.ts";
import type { Clock } from "../time/clock.ts";
import { unlessAborted } from "../time/wait_scope.ts";
import type { Deadline } from "./deadline.ts";
import type { RenewalSchedule } from "./renewal_schedule.ts";

/** When a lease is renewed. */
interface Times {
  readonly schedule: RenewalSchedule;
  readonly deadline: Deadline;
  readonly clock: Clock;
}

/** Calls `renew` whenever a renewal is due, one at a time, and at the deadline, until the signal aborts. Never rejects. */
export async function renewAtInterval(
  renew: () => Promise<unknown>,
  times: Times,
  signal: AbortSignal,
): Promise<void> {
  for await (const _ of interval(times, signal)) {
    // A store may hang for longer than the lease lasts.
    await unlessAborted(renew(), signal).catch(() => {});
  }
}

/** Yields whenever a renewal is due, and at the deadline, until the signal aborts. Does not keep the process alive. */
async function* interval({ schedule, deadline, clock }: Times, signal: AbortSignal): AsyncGenerator<void, void, void> {
  while (!signal.aborted) {
    const now = clock.now();
    const left = deadline.left(now);
    const ms = Math.min(schedule.dueIn(now), left);
    if (ms <= 0) {
      yield;
      continue;
    }
    await calledOrAborted(signal, (due) => {
      // Of many leases some may be renewed a bit late; none may be trusted too long.
      const timer = clock.timer(ms, due, now, left);
      return () => timer.cancel();
    });
  }
}
