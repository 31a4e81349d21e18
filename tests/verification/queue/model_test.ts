// Deno only: it takes long, and compares the stores with each other.
import { MEMORY, SQLITE } from "../../places/embedded.ts";
import { CAS, HOSTED } from "../../places/engine.ts";
import { SERVERS } from "../../places/servers.ts";
import { IOREDIS } from "../../stores/redis/tested.ts";
import { queueModel } from "./agrees.ts";
import { scriptsOver } from "./scripts_over.ts";

queueModel(MEMORY, 2_000);
queueModel(SQLITE, 1_000);
for (const engine of CAS) queueModel(engine, 1_000);
queueModel(scriptsOver(IOREDIS), 500);
for (const place of [...HOSTED, ...SERVERS]) queueModel(place);
