// Deno only: it starts a front of HTTP, and takes long.
import { IN_FULL, OVER_HTTP, tested } from "../../stores/redis/clients.ts";
import { RedisServer } from "../../support/redis_server.ts";
import { serverStore } from "../../support/server_store.ts";
import { agreesInFewRuns } from "./agrees.ts";

/** Those that model_test.ts leaves out. */
for (const library of [...IN_FULL.slice(1), OVER_HTTP]) {
  Deno.test({
    name: `redis() over ${library.name} grants what the model of the queue grants, in order`,
    fn: async () => {
      await using server = await RedisServer.start();
      const store = serverStore(tested(server.connect(), library));
      await agreesInFewRuns(store);
    },
  });
}
