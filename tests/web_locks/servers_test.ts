// Deno only: it starts servers.
import { SHARED_SERVERS } from "../places/servers.ts";
import { ACROSS_NAMES, webLocksOn } from "./suite.ts";

for (const place of SHARED_SERVERS) webLocksOn(place, [ACROSS_NAMES]);
