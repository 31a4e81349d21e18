// Deno only: it takes long, and compares the stores with each other.
import { ENGINES, MEMORY, SQLITE } from "../../places/embedded.ts";
import { SERVERS } from "../../places/servers.ts";
import { place } from "../../stores/redis/place.ts";
import { IN_FULL, OVER_HTTP, tested } from "../../stores/redis/clients.ts";
import { queueModel } from "./agrees.ts";

queueModel(MEMORY, 2_000);
queueModel(SQLITE, 1_000);
for (const engine of ENGINES) queueModel(engine, 1_000);

// Without handing locks on inside of the process: it is the queue of the scripts that is tested.
for (const [i, library] of [...IN_FULL, OVER_HTTP].entries()) {
  const open = () => place((server) => tested(server.connect(), library));
  queueModel({ of: `redis() over ${library.name}`, capabilities: [], open }, i === 0 ? 500 : undefined);
}

for (const server of SERVERS) queueModel(server);
