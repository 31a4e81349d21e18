import { MemcacheClient } from "memcache-client";
import type { Observer } from "../../../../src/events.ts";
import { SystemClock } from "../../../../src/internal/time/clock.ts";
import { checkCasOptions } from "../../../../src/stores/cas/options.ts";
import { CasStore } from "../../../../src/stores/cas/store.ts";
import type { Backend } from "../../../../src/stores/cas/mod.ts";
import { memcached } from "../../../support/memcached_backend.ts";
import { type Access, LOOK_MS } from "../access.ts";
import type { MemcachedTarget, Work } from "../work.ts";
import { documentView } from "./documents.ts";

/** Connects to a store on a memcached server. */
export function memcachedAccess(
  { target, direct, commandTimeout }: Work<MemcachedTarget>,
  observer: Observer,
): Access {
  const client = ({ port }: MemcachedTarget, cmdTimeout?: number) => {
    const connected = new MemcacheClient({ server: `127.0.0.1:${port}`, ...(cmdTimeout && { cmdTimeout }) });
    return { connected, backend: memcached(connected) as Backend };
  };
  const [used, looking] = [client(target, commandTimeout ?? undefined), client(direct, LOOK_MS)];
  return {
    store: new CasStore(used.backend, checkCasOptions(used.backend, { observer }), new SystemClock()),
    views: [documentView(looking.backend)],
    close: () => {
      for (const { connected } of [used, looking]) connected.shutdown();
    },
  };
}
