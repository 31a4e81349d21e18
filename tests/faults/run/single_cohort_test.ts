// Deno only: it tests a tool for Deno.
import { shortRun } from "./short_run.ts";

Deno.test("cohort() keeps its promises under random faults of a single server", async () => {
  await shortRun("single", { cohort: true });
});
