// Deno only: it tests a tool for Deno.
import { findZookeeper } from "../../support/zookeeper.ts";
import { shortRun } from "./short_run.ts";
import "./zookeeper/fault_checks.ts";

Deno.test({
  name: "Lock keeps its promises under random faults of processes that share a ZooKeeper",
  ignore: "missing" in findZookeeper(),
  fn: async () => {
    await shortRun("zookeeper");
  },
});
