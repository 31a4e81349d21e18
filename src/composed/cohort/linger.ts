import { elapsed } from "../../internal/clock.ts";
import type { GlobalHold } from "./global_hold.ts";
import type { Site } from "./site.ts";

/** After so many milliseconds without a handle the lease in the store is shortened. */
const SHORTEN_AFTER_MS = 1;

/** How much longer than it lingers the process keeps the lease in the store, in milliseconds. */
const RESERVE_MS = 250;

/**
 * So many microtasks pass at most until a handle that acquires the lock again right behind its release has asked for it.
 */
const AT_ONCE = 100;

/**
 * Keeps a lock that no handle has, although others wait for it in the store: only for a handle that acquires it again
 * right behind its release, before the process does anything else.
 *
 * @param idle returns whether still no handle has it
 * @param end is called when it must go back
 */
export async function lingerAtOnce(hold: GlobalHold, idle: () => boolean, end: (how: "over") => void): Promise<void> {
  for (let passed = 0; passed < AT_ONCE && idle(); passed++) await undefined;
  hold.lingering = false;
  if (idle()) end("over");
}

/**
 * Keeps a lock that no handle has, while it stays so and for no longer than `linger`, nor for longer than the process may
 * keep it. Keeps the process alive meanwhile. What the process leaves in the store if it is killed is short: the lease is
 * shortened as soon as nobody comes at once.
 *
 * @param idle returns whether still no handle has it
 * @param end is called when it must go back, or was found to be lost
 */
export async function linger(
  { clock, settings }: Site,
  hold: GlobalHold,
  idle: () => boolean,
  end: (how: "over" | "lost") => void,
): Promise<void> {
  const shortened = settings.linger + RESERVE_MS;
  while (idle()) {
    const now = clock.now();
    const idleMs = elapsed(hold.idleSince, now);
    const leftMs = Math.min(settings.linger - idleMs, hold.left(now));
    if (leftMs <= 0) {
      hold.lingering = false;
      return end("over");
    }
    if (idleMs >= SHORTEN_AFTER_MS && hold.lease.claim.lease > shortened) {
      // Not waited for. If it fails, the next handle is granted the lock after a renewal that was answered.
      hold.lease.renew(shortened).then((outcome) => outcome === "lost" && !hold.signal.aborted && end("lost"))
        .catch(() => {});
    }
    const untilShortened = SHORTEN_AFTER_MS - idleMs;
    await clock.sleep(untilShortened > 0 ? Math.min(untilShortened, leftMs) : leftMs, hold.signal);
  }
  hold.lingering = false;
}
