/**
 * A worker of the demo on the servers that the URL of its store names.
 *
 * @module
 */
import { openStore } from "../../examples/store.ts";
import { runWorker } from "./worker.ts";

await runWorker(openStore);
