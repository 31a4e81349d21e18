import type { Observer } from "../../../../src/events.ts";
import { SystemClock } from "../../../../src/internal/time/clock.ts";
import { checkCasOptions } from "../../../../src/stores/cas/options.ts";
import { CasStore } from "../../../../src/stores/cas/store.ts";
import { type Access, LOOK_MS } from "../access.ts";
import { documentView } from "../memcached/documents.ts";
import type { MysqlTarget, Work } from "../work.ts";
import { connectTo } from "./connection.ts";

/** Connects to a store on a MariaDB server. */
export function mysqlAccess({ target, direct, commandTimeout }: Work<MysqlTarget>, observer: Observer): Access {
  const [used, looking] = [connectTo(target.port, commandTimeout ?? undefined), connectTo(direct.port, LOOK_MS)];
  return {
    store: new CasStore(used.backend, checkCasOptions(used.backend, { observer }), new SystemClock()),
    views: [documentView(looking.backend)],
    close: () => {
      for (const { pool } of [used, looking]) pool.end().catch(() => {});
    },
  };
}
