import { showDuration } from "../display/duration.ts";
import { oldestFirst } from "../display/entries.ts";
import type { Clock } from "../time/clock.ts";
import { holderName, lockOf } from "./listing.ts";
import type { OpenedStore } from "../schemes/scheme.ts";

/** How long a store may take to tell the holder of an awaited lock, in milliseconds. */
const ANSWER_MS = 1_000;

/**
 * Resolves to the holder and the time, such as `held by web-1/4711, for 3m 20s`; to `undefined` if nobody holds the
 * lock, or the store does not tell in time.
 */
export async function heldBy(opened: OpenedStore, name: string, clock: Clock): Promise<string | undefined> {
  const over = new AbortController();
  const timer = clock.timer(ANSWER_MS, () => over.abort());
  try {
    const { held } = await lockOf(opened, name, over.signal);
    const [holder] = oldestFirst(held);
    if (holder === undefined) return undefined;
    const age = holder.since === undefined ? "" : `, for ${showDuration(clock.now().wall - holder.since)}`;
    return `held by ${holderName(holder)}${age}${held.length === 1 ? "" : `, and by ${held.length - 1} more`}`;
  } catch {
    return undefined; // It is no more than a help.
  } finally {
    timer.cancel();
  }
}
