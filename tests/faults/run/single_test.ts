// Deno only: it tests a tool for Deno.
import { shortRun } from "./short_run.ts";

for (const handoff of ["default", "linger"] as const) {
  Deno.test(`Lock keeps its promises under faults of one server, handoff: ${handoff}`, async () => {
    await shortRun("single", { handoff });
  });
}

for (const client of ["node-redis", "upstash"] as const) {
  Deno.test(`Lock keeps its promises under faults of one server, over ${client}`, async () => {
    await shortRun("single", { client });
  });
}
