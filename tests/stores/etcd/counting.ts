import type { EtcdFetch } from "@holdfast/lock/etcd";

/** The release of a lock that was lost is not waited for. */
const QUIET_MS = 100;

/** What was sent. */
export interface Counted {
  readonly fetch: EtcdFetch;
  /** Returns how many requests have gone to URLs that contain a text. */
  readonly count: (text: string) => number;
  /** The bodies that were sent. */
  readonly bodies: string[];
  /** Returns whether all requests have a response, and none was sent for longer than a call pauses after a conflict. */
  readonly isQuiet: () => boolean;
}

/** Returns a `fetch` that notes what is sent. */
export function counting(): Counted {
  const urls: string[] = [];
  const bodies: string[] = [];
  let pending = 0;
  let last = 0;
  return {
    fetch: async (url, request) => {
      urls.push(url);
      bodies.push(request.body);
      pending++;
      try {
        return await fetch(url, request);
      } finally {
        pending--;
        last = performance.now();
      }
    },
    isQuiet: () => pending === 0 && performance.now() - last > QUIET_MS,
    count: (text) => urls.filter((url) => url.includes(text)).length,
    bodies,
  };
}
