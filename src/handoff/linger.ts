import { elapsed, type Instant } from "../time/clock.ts";
import type { Grant } from "./grant.ts";
import type { HandoffContext } from "./context.ts";

/** After so many milliseconds without a handle the lease in the store is shortened. */
const SHORTEN_AFTER_MS = 1;

/** How much longer than it lingers the process keeps the lease in the store, in milliseconds. */
const RESERVE_MS = 250;

/**
 * So many microtasks pass at most until a handle that acquires the lock again right behind its release has asked for it.
 */
const AT_ONCE = 100;

/**
 * Keeps a lock that no handle holds from this moment on, while it stays so, for `linger` milliseconds and not beyond `keep`.
 * Where others wait in the store, only for a handle that acquires it again right behind the release, before the process
 * does anything else. Keeps the process alive meanwhile. What the process leaves in the store if it is killed is short: the
 * lease is shortened as soon as nobody comes at once.
 *
 * @param end is called when the lock must go back, or was found to be lost
 * @returns what goes on meanwhile; `undefined` if it goes on already
 */
export function linger(
  context: HandoffContext,
  grant: Grant,
  now: Instant,
  end: (how: "over" | "lost") => void,
): Promise<void> | undefined {
  grant.phase = { kind: "lingering", since: now };
  if (grant.lingers) return undefined;
  grant.lingers = true;
  return grant.contended ? lingerAtOnce(grant, end) : lingerOn(context, grant, end);
}

async function lingerAtOnce(grant: Grant, end: (how: "over") => void): Promise<void> {
  for (let passed = 0; passed < AT_ONCE && isLingering(grant); passed++) await undefined;
  grant.lingers = false;
  if (isLingering(grant)) end("over");
}

async function lingerOn(
  { clock, settings }: HandoffContext,
  grant: Grant,
  end: (how: "over" | "lost") => void,
): Promise<void> {
  const shortened = settings.linger + RESERVE_MS;
  for (let { phase } = grant; phase.kind === "lingering"; { phase } = grant) {
    const now = clock.now();
    const idleMs = elapsed(phase.since, now);
    const leftMs = Math.min(settings.linger - idleMs, settings.keep - elapsed(grant.since, now));
    if (leftMs <= 0) {
      end("over");
      break;
    }
    if (idleMs >= SHORTEN_AFTER_MS && grant.lease.claim.lease > shortened) {
      // Not waited for. If it fails, the next handle is granted the lock after a renewal that was answered.
      grant.lease.renew(shortened).then((outcome) => outcome === "lost" && end("lost")).catch(() => {});
    }
    const untilShortened = SHORTEN_AFTER_MS - idleMs;
    await clock.sleep(untilShortened > 0 ? Math.min(untilShortened, leftMs) : leftMs, grant.over);
  }
  grant.lingers = false;
}

function isLingering({ phase }: Grant): boolean {
  return phase.kind === "lingering";
}
