// Deno only: it tests a tool for Deno.
import { findMemcached } from "../../support/memcached_server.ts";
import { shortRun } from "./short_run.ts";

Deno.test({
  name: "Lock keeps its promises under random faults of processes that share a memcached",
  ignore: "missing" in findMemcached(),
  fn: async () => {
    await shortRun("memcached");
  },
});
