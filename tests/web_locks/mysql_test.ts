// Deno only: it starts a server.
import { mysql } from "@holdfast/lock/mysql";
import { LockManager } from "@holdfast/lock/web-locks";
import { ignore, Place } from "../stores/mysql/place.ts";
import { until } from "../support/until.ts";
import { ACROSS_NAMES, webLocksSuite } from "./suite.ts";

Place.serve();

if (!ignore) {
  webLocksSuite({
    of: "LockManager on MariaDB",
    without: [ACROSS_NAMES],
    open: async () => {
      const place = await Place.open();
      const first = mysql(place.pool());
      await first.query();
      return {
        connect: () => new LockManager(mysql(place.pool())),
        close: async () => {
          await until(async () => {
            const { held, pending } = await first.query();
            return held.length + pending.length === 0;
          }, "nothing is left");
          await place.quiet();
          await place[Symbol.asyncDispose]();
        },
      };
    },
  });
}
