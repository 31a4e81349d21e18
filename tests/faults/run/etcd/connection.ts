import { SystemClock } from "../../../../src/time/clock.ts";
import { EtcdGateway } from "../../../../src/stores/etcd/gateway.ts";
import { checkEtcdOptions, type EtcdFetch } from "../../../../src/stores/etcd/options.ts";
import { EtcdBackend } from "../../../../src/stores/etcd/store.ts";
import type { Connection } from "../engine_access.ts";

/** Where the gateway takes watches, which last. */
export const WATCH = "/v3/watch";

/** Connects to members, whose answers may take so many milliseconds, or as long as the store likes. */
export function connectTo(ports: readonly number[], timeout?: number): Connection<string> {
  const client = Deno.createHttpClient({});
  const send: EtcdFetch = (url, request) => {
    const signals = timeout === undefined || url.endsWith(WATCH)
      ? [request.signal]
      : [request.signal, AbortSignal.timeout(timeout)];
    return fetch(url, { ...request, signal: AbortSignal.any(signals), client });
  };
  const settings = checkEtcdOptions({ endpoints: ports.map((port) => `http://127.0.0.1:${port}`), fetch: send });
  const clock = new SystemClock();
  return {
    backend: new EtcdBackend(new EtcdGateway(settings, clock), settings.prefix, clock),
    close: () => client.close(),
  };
}
