// Deno only: it takes long, and starts servers.
import { SERVERS } from "../places/servers.ts";
import { OF_CONNECTIONS } from "../support/part_of_suite.ts";
import { cohortsSuite } from "./suites.ts";

// Beneath each of them is the engine: engine_test.ts runs the whole suite on it.
for (const place of SERVERS) cohortsSuite(place, {}, OF_CONNECTIONS);
