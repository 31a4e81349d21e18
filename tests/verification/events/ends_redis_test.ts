// Deno only: it starts servers.
import { REDIS, REDLOCK } from "../../places/redis.ts";
import { reallyEndsOnce } from "./really.ts";

reallyEndsOnce(REDIS);
reallyEndsOnce(REDLOCK, 10);
