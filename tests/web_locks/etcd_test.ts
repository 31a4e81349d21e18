// Deno only: it starts a server.
import { LockManager } from "@holdfast/lock/web-locks";
import { ignore, Place } from "../stores/etcd/place.ts";
import { until } from "../support/until.ts";
import { ACROSS_NAMES, webLocksSuite } from "./suite.ts";

Place.serve();

webLocksSuite({
  of: "LockManager on etcd",
  without: [ACROSS_NAMES],
  ignore,
  open: () => {
    const place = new Place();
    return {
      connect: () => new LockManager(place.store()),
      close: async () => {
        await until(async () => (await place.used()).length === 0, "nothing is left");
        await place.quiet();
      },
    };
  },
});
