// Deno only: it takes long, and starts servers.
import { SERVERS } from "../../places/servers.ts";
import { reallyEndsOnce } from "./really.ts";

for (const place of SERVERS) reallyEndsOnce(place);
