import type { RedisServer } from "../../tests/support/redis_server.ts";
import { masters } from "../../bench/masters.ts";
import { pause } from "../../bench/pause.ts";
import type { Contender } from "./contender.ts";
import { Worker } from "./worker.ts";

/** Servers and processes for one observation, which end with it. */
export class Stage implements AsyncDisposable {
  readonly #stack = new AsyncDisposableStack();

  /** Starts so many servers. */
  servers(count: number): Promise<RedisServer[]> {
    return masters(count, this.#stack);
  }

  /** Starts one server. */
  async server(): Promise<RedisServer> {
    return (await this.servers(1))[0]!;
  }

  /** Starts a process; unless it is tolerant, a rejection that nobody handles ends it, as by default. */
  async worker({ peer, tuned }: Contender, ports: readonly number[], tolerant = true): Promise<Worker> {
    return this.use(await Worker.start({ peer: peer.id, tuned, ports, tolerant }));
  }

  /** Disposes of something with the stage. */
  use<T extends AsyncDisposable>(resource: T): T {
    return this.#stack.use(resource);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

/** How long a key may take to appear, in milliseconds. */
const KEY = 10_000;

/** Resolves when there is a key on a server. */
export async function keyAppears(server: RedisServer): Promise<void> {
  const client = server.connect();
  for (const end = Date.now() + KEY; await client.dbsize() === 0; await pause(5)) {
    if (Date.now() > end) throw new Error("no key appeared");
  }
  client.disconnect();
}
