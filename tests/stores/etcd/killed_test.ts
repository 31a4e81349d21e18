// Deno only: it starts servers, and kills processes.
import { assert } from "@std/assert";
import { etcd } from "@holdfast/lock/etcd";
import { EtcdCluster } from "../../support/etcd_server.ts";
import { killHolder } from "../../support/killed_holder.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { killedSuite, succeeds } from "../../verification/killed_suite.ts";
import { ignore, Place, test } from "./place.ts";

Place.serve();

const PROGRAM = new URL("holder_process.ts", import.meta.url);

killedSuite({
  of: "etcd",
  ignore,
  open: () => {
    const place = new Place();
    return {
      kill: (lease, held) => killHolder(PROGRAM, Place.cluster.endpoints[0]!, place.prefix, `${lease}`, `${held}`),
      store: () => place.store(),
      engine: (clock) => Promise.resolve(place.engine({}, clock)),
      async forgetTimers() {
        const backend = place.backend();
        const { value, version } = await backend.read("a");
        const { written } = await backend.write("a", value!.replace(/,"timer":"[^"]*"/, ""), version);
        assert(written);
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  },
});

for (const held of [0, 4_500]) {
  test(`acquire() succeeds a process killed ${held} ms after a grant, and the leader`, async () => {
    await using cluster = await EtcdCluster.start(3);
    const fence = await killHolder(PROGRAM, cluster.endpoints[0]!, "a/", "6000", `${held}`);
    const leader = await cluster.leader();
    await leader.kill();
    const endpoints = cluster.endpoints.filter((url) => url !== leader.url);
    await until(() => cluster.leader().then(() => true, () => false), "another member leads", HANG_MS);
    await succeeds(() => etcd({ endpoints, prefix: "a/" }), fence, 2_000);
  });
}
