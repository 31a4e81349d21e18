import { elapsed, type Instant } from "../time/clock.ts";
import type { Grant } from "./grant.ts";
import type { HandoffContext } from "./context.ts";

/** After this many milliseconds without a handle the lease in the store is shortened. */
const SHORTEN_AFTER_MS = 1;

/** How much longer than the linger time the process keeps the lease in the store, in milliseconds. */
const RESERVE_MS = 250;

/** How many microtasks a handle that acquires the lock again right after its release takes at most to ask for it. */
const AT_ONCE = 100;

/**
 * Keeps a lock that no handle holds for `linger` milliseconds, and not beyond `keep`. Where others wait in the store,
 * keeps it only for a handle that acquires it again right after the release, before the process does anything else.
 * Keeps the process alive until then. A killed process leaves only a short lease in the store: the lease is shortened
 * as soon as no handle comes at once.
 *
 * @param end called when the lock must go back, if the store still has it
 * @returns the work in the background; `undefined` if it goes on already
 */
export function linger(
  context: HandoffContext,
  grant: Grant,
  now: Instant,
  end: () => void,
): Promise<void> | undefined {
  grant.phase = { kind: "lingering", since: now };
  if (grant.lingers) return undefined;
  grant.lingers = true;
  return grant.contended ? lingerAtOnce(grant, end) : lingerOn(context, grant, end);
}

async function lingerAtOnce(grant: Grant, end: () => void): Promise<void> {
  for (let passed = 0; passed < AT_ONCE && isLingering(grant); passed++) await undefined;
  grant.lingers = false;
  if (isLingering(grant)) end();
}

async function lingerOn(
  { clock, settings }: HandoffContext,
  grant: Grant,
  end: () => void,
): Promise<void> {
  const shortened = settings.linger + RESERVE_MS;
  for (let { phase } = grant; phase.kind === "lingering"; { phase } = grant) {
    const now = clock.now();
    const idleMs = elapsed(phase.since, now);
    const leftMs = Math.min(settings.linger - idleMs, settings.keep - elapsed(grant.since, now));
    if (leftMs <= 0) {
      const { renewing } = grant.lease;
      if (renewing === undefined) {
        end();
        break;
      }
      // Until the renewal is answered the lock cannot go back, and a handle that comes would find it busy.
      await renewing;
      continue;
    }
    if (idleMs >= SHORTEN_AFTER_MS && grant.lease.claim.lease > shortened) {
      // The renewal is not awaited. If it fails, the next handle is granted the lock only after an answered renewal.
      grant.lease.renew(shortened).then((outcome) => outcome === "lost" && end()).catch(() => {});
    }
    const untilShortened = SHORTEN_AFTER_MS - idleMs;
    await clock.sleep(untilShortened > 0 ? Math.min(untilShortened, leftMs) : leftMs, grant.over);
  }
  grant.lingers = false;
}

function isLingering({ phase }: Grant): boolean {
  return phase.kind === "lingering";
}
