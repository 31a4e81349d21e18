// Deno only: it tests a tool for Deno.
import { findPostgres } from "../../support/postgres.ts";
import { shortRun } from "./short_run.ts";

Deno.test({
  name: "Lock keeps its promises under random faults of processes that share a PostgreSQL",
  ignore: "missing" in findPostgres(),
  fn: async () => {
    await shortRun("postgres");
  },
});
