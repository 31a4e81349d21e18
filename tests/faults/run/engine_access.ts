import type { Observer } from "../../../src/contract/events.ts";
import { SystemClock } from "../../../src/time/clock.ts";
import type { Backend } from "../../../src/engine/mod.ts";
import { parseDocument } from "../../../src/engine/document.ts";
import { checkCasOptions } from "../../../src/engine/options.ts";
import { CasStore } from "../../../src/engine/store.ts";
import type { Access } from "./access.ts";
import { documentView } from "./documents.ts";

/** A client of a server, and what the engine keeps its documents in over it. */
export interface Connection<Version> {
  readonly backend: Backend<Version>;
  close(): void;
}

/** Returns the engine over one connection, and what is seen of it over another one. */
export function engineAccess<Version>(
  used: Connection<Version>,
  looking: Connection<Version>,
  observer: Observer,
): Access {
  const make = () => new CasStore(used.backend, checkCasOptions(used.backend, { observer }), new SystemClock());
  return {
    store: make(),
    another: make,
    queued: async (lock) => parseDocument(lock, (await looking.backend.read(lock)).value).queue.length,
    views: [documentView(looking.backend)],
    close: () => {
      for (const connection of [used, looking]) connection.close();
    },
  };
}
