import { MemcacheClient } from "memcache-client";
import type { Backend } from "../../../../src/engine/mod.ts";
import { memcached } from "../../../support/memcached_backend.ts";
import type { Connection } from "../engine_access.ts";

/**
 * Connects to a port; commands wait for an answer for so many milliseconds, or as long as the client likes. The client
 * of npm would connect again after it was closed; this does not.
 */
export function connectTo(port: number, cmdTimeout?: number): Connection<unknown> {
  const client = new MemcacheClient({ server: `127.0.0.1:${port}`, ...(cmdTimeout && { cmdTimeout }) });
  const { read, write } = memcached(client) as Backend;
  let closed = false;
  const unlessClosed = <T>(run: () => Promise<T>) => closed ? Promise.reject(new Error("it is closed")) : run();
  return {
    backend: {
      read: (key) => unlessClosed(() => read(key)),
      write: (...args) => unlessClosed(() => write(...args)),
    },
    close: () => {
      closed = true;
      client.shutdown();
    },
  };
}
