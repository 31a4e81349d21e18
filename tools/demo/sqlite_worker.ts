/**
 * A worker of the demo on an SQLite file. It loads no client of a server.
 *
 * @module
 */
import { sqlite } from "@holdfast/lock/sqlite";
import { pathOf } from "../../examples/store_url.ts";
import { runWorker } from "./worker.ts";

await runWorker((where, observer) => {
  const store = sqlite(pathOf(where), { observer });
  return Promise.resolve({ store, [Symbol.asyncDispose]: () => Promise.resolve(store.close()) });
});
