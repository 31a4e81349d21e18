import { assertEquals } from "@std/assert";
import type { Redis } from "ioredis";
import type { ServerStore } from "../../../src/stores/redis/store.ts";
import { RedisServer } from "../../support/redis_server.ts";
import { serverStore } from "../../support/server_store.ts";
import { reservingForLong } from "./long_reservations.ts";

/** The server of one test, with a client and a store of it, which are made when they are asked for. */
export class OnServer {
  readonly server: RedisServer;
  #client: Redis | undefined;
  #store: ServerStore | undefined;

  constructor(server: RedisServer) {
    this.server = server;
  }

  get client(): Redis {
    return this.#client ??= this.server.connect();
  }

  /** Its reservations do not end. */
  get store(): ServerStore {
    return this.#store ??= serverStore(reservingForLong(this.client));
  }
}

/** Defines a test on a server of its own. */
export function testOnServer(name: string, run: (on: OnServer) => void | Promise<void>): void {
  Deno.test(name, async () => {
    await using server = await RedisServer.start();
    await run(new OnServer(server));
  });
}

/** Defines one after which nothing but fences is left on the server. */
export function testClean(name: string, run: (on: OnServer) => void | Promise<void>): void {
  testOnServer(name, async (on) => {
    await run(on);
    assertEquals(await on.server.leftovers(), []);
  });
}
