// Deno only: it tests a tool for Deno.
import { shortRun } from "./short_run.ts";

for (const handoff of ["default", "linger"] as const) {
  Deno.test(`Lock keeps its promises under faults of one server, handoff: ${handoff}`, async () => {
    await shortRun("single", handoff);
  });
}
