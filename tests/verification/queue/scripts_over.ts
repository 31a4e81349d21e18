import type { Place } from "../../places/place.ts";
import { type ClientLibrary, tested } from "../../stores/redis/tested.ts";
import { place } from "../../stores/redis/place.ts";
import { RedisServer } from "../../support/redis_server.ts";

/** A Redis server over a library, without handing locks on inside of the process: the queue is that of the scripts. */
export function scriptsOver(library: ClientLibrary): Place {
  const open = () => place(() => RedisServer.start(), (server) => tested(server.connect(), library));
  return { of: `redis() over ${library.name}`, capabilities: [], open };
}
