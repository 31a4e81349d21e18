// Deno only: it takes long, and needs Deno.openKv.
import { CAS, HOSTED } from "../places/engine.ts";
import { cohortsSuite } from "./suites.ts";

for (const place of [...CAS, ...HOSTED]) cohortsSuite(place);
