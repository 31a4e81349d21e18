// Deno only: it tests a tool for Deno.
import { findMariadb } from "../../support/mariadb.ts";
import { shortRun } from "./short_run.ts";

Deno.test({
  name: "Lock keeps its promises under random faults of processes that share a MariaDB",
  ignore: "missing" in findMariadb(),
  fn: async () => {
    await shortRun("mysql");
  },
});
