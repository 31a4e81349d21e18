import type { IoredisClient } from "../client.ts";

/**
 * Returns the fault in the options of a client, in one sentence; `undefined` if there is none. It names only options
 * that hide a failure for good: calls hang although the service is up, or never fail although it is down.
 */
export function clientWarning(client: IoredisClient): string | undefined {
  const { options = {}, isCluster } = client;
  const faults: string[] = [];
  if (isCluster) {
    const { socketTimeout } = Object(options.redisOptions);
    if (!socketTimeout && !options.slotsRefreshInterval) {
      faults.push("without redisOptions.socketTimeout a node that hangs is never left for the one that replaces it");
    }
  } else if (Array.isArray(options.sentinels)) {
    if (!options.socketTimeout && !options.failoverDetector) {
      faults.push("without socketTimeout or failoverDetector a master that hangs is never left for the next one");
    }
    if (!options.sentinelCommandTimeout) {
      faults.push("without sentinelCommandTimeout a Sentinel that hangs is asked for ever");
    }
    if (options.enableReadyCheck === false) {
      faults.push("with enableReadyCheck: false a former master is not recognized");
    }
  }
  if (!isCluster && options.maxRetriesPerRequest === null && options.enableOfflineQueue !== false) {
    faults.push("with maxRetriesPerRequest: null what is asked of a server that is down never fails");
  }
  return faults.length === 0 ? undefined : `The options of the Redis client hide failures: ${faults.join("; ")}`;
}
