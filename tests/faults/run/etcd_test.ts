// Deno only: it tests a tool for Deno.
import { findEtcd } from "../../support/etcd.ts";
import { shortRun } from "./short_run.ts";

Deno.test({
  name: "Lock keeps its promises under random faults of processes that share an etcd",
  ignore: "missing" in findEtcd(),
  fn: async () => {
    await shortRun("etcd");
  },
});
