// Deno only: it starts a front of HTTP, and takes long.
import { IN_FULL, OVER_HTTP } from "../../stores/redis/clients.ts";
import { queueModel } from "./agrees.ts";
import { scriptsOver } from "./scripts_over.ts";

// Those that model_test.ts leaves out.
for (const library of [...IN_FULL.slice(1), OVER_HTTP]) queueModel(scriptsOver(library));
