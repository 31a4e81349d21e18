// Deno only: it takes long, and starts servers.
import { SERVERS } from "../places/servers.ts";
import { cohortsSuite } from "./suites.ts";

for (const place of SERVERS) cohortsSuite(place);
