import type { RedisServer } from "../../../support/redis_server.ts";
import { RestFront } from "../../../support/rest_front.ts";
import type { Traits } from "../deployment.ts";
import type { ClientName } from "../options.ts";
import { TRAITS } from "./traits.ts";

/** What a front for HTTP wants to be told. */
export const TOKEN = "token-of-the-run";

/** Where clients of a library enter a server: by its own port, or by that of a front which speaks HTTP. */
export class Entrance implements AsyncDisposable {
  readonly port: number;
  readonly #front: RestFront | undefined;

  /** Opens it. */
  constructor(server: RedisServer, client: ClientName) {
    this.#front = client === "upstash" ? new RestFront(server.port, 0, TOKEN) : undefined;
    this.port = this.#front?.port ?? server.port;
  }

  /** Closes the connections of the front to the server, when the processes have gone. */
  async close(): Promise<void> {
    await this.#front?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** Returns what is particular to the store on Redis when it is reached with this client. */
export function traitsOver(client: ClientName): Traits {
  if (client !== "upstash") return TRAITS;
  // Requests overtake each other, a dead waiter cannot be told from one that is about to ask, and waiters poll.
  return { ...TRAITS, executesLate: true, keepsTurns: true, pace: [500, 1_000] };
}
