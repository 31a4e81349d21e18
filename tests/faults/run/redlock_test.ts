// Deno only: it tests a tool for Deno.
import { shortRun } from "./short_run.ts";

for (const handoff of ["default", "keep"] as const) {
  Deno.test(`Lock keeps its promises under faults of Redlock's servers, handoff: ${handoff}`, async () => {
    await shortRun("redlock", { handoff });
  });
}
