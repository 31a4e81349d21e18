import type { Observer } from "../../../../src/events.ts";
import { SystemClock } from "../../../../src/internal/time/clock.ts";
import { checkCasOptions } from "../../../../src/stores/cas/options.ts";
import { CasStore } from "../../../../src/stores/cas/store.ts";
import { type Access, LOOK_MS } from "../access.ts";
import type { MemcachedTarget, Work } from "../work.ts";
import { connectTo } from "./connection.ts";
import { documentView } from "./documents.ts";

/** Connects to a store on a memcached server. */
export function memcachedAccess(
  { target, direct, commandTimeout }: Work<MemcachedTarget>,
  observer: Observer,
): Access {
  const [used, looking] = [connectTo(target.port, commandTimeout ?? undefined), connectTo(direct.port, LOOK_MS)];
  return {
    store: new CasStore(used.backend, checkCasOptions(used.backend, { observer }), new SystemClock()),
    views: [documentView(looking.backend)],
    close: () => {
      for (const connection of [used, looking]) connection.close();
    },
  };
}
