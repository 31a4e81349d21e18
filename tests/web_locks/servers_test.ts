// Deno only: it starts servers.
import { SERVERS } from "../places/servers.ts";
import { ACROSS_NAMES, webLocksOn } from "./suite.ts";

for (const place of SERVERS) webLocksOn(place, [ACROSS_NAMES]);
