import { LEASE, RETRY } from "./clients.ts";
import { held, type Session } from "./session.ts";

/** The interface that redlock 5 and its continuation share. */
interface Redlock {
  readonly settings: { readonly retryDelay: number };
  acquire(resources: string[], ms: number, settings?: Settings): Promise<{ release(): Promise<unknown> }>;
  using<T>(
    resources: string[],
    ms: number,
    settings: Settings,
    routine: (signal: AbortSignal) => Promise<T>,
  ): Promise<T>;
}

interface Settings {
  retryCount?: number;
  retryDelay?: number;
  retryJitter?: number;
  automaticExtensionThreshold?: number;
}

/** None, which means its defaults, or those that never give up and retry soon. */
export function redlockSettings(tuned: boolean): Settings {
  return tuned ? { retryCount: -1, retryDelay: RETRY.delay, retryJitter: RETRY.jitter } : {};
}

/** A session of either. */
export function redlockSession(redlock: Redlock): Session {
  return {
    async lock(name, lease = LEASE) {
      const lock = await redlock.acquire([name], lease);
      return () => lock.release();
    },
    hold(name, lease, lost) {
      const settings = { automaticExtensionThreshold: lease * 2 / 3 };
      return held((routine) =>
        redlock.using([name], lease, settings, (signal) => {
          signal.addEventListener("abort", lost);
          return routine();
        })
      );
    },
    async within(name, ms) {
      const retryCount = Math.ceil(ms / redlock.settings.retryDelay);
      const lock = await redlock.acquire([name], LEASE, { retryCount });
      return () => lock.release();
    },
  };
}
