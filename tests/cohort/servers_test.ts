// Deno only: it takes long, and starts servers.
import { ENGINES } from "../places/embedded.ts";
import { SERVERS } from "../places/servers.ts";
import { cohortsSuite } from "./suites.ts";

for (const place of [...ENGINES, ...SERVERS]) cohortsSuite(place);
