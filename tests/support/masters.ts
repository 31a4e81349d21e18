import type { Redis } from "ioredis";
import type { QuorumNode } from "../../src/contract/quorum_node.ts";
import type { Store } from "../../src/contract/store.ts";
import { RedisServer } from "./redis_server.ts";
import { serverStore } from "./server_store.ts";

/** How long a client waits between two tries to connect, in milliseconds: closing it in between takes as long. */
const RETRY = 50;

/** Independent Redis servers that are stopped together. */
export class Masters implements AsyncDisposable {
  readonly servers: readonly RedisServer[];
  readonly #stack: AsyncDisposableStack;

  protected constructor(servers: readonly RedisServer[], stack: AsyncDisposableStack) {
    this.servers = servers;
    this.#stack = stack;
  }

  /** Starts so many servers, which forget everything when they are killed. */
  static async start(count: number): Promise<Masters> {
    await using stack = new AsyncDisposableStack();
    const servers = await startAll(Array.from({ length: count }, () => []), stack);
    return new Masters(servers, stack.move());
  }

  /** Returns one client of each server, connected; closed with the servers. */
  async connect(): Promise<Redis[]> {
    const clients = this.servers.map((server) => server.connect({ retryStrategy: () => RETRY }));
    await Promise.all(clients.map((client) => client.ping()));
    return clients;
  }

  /** Returns one store on each server. */
  async nodes(): Promise<QuorumNode[]> {
    return (await this.connect()).map((client) => serverStore(client));
  }

  /** Kills the servers at these places at the same moment. */
  async kill(...places: number[]): Promise<void> {
    await Promise.all(places.map((place) => this.servers[place]!.kill()));
  }

  /** Returns the keys on all servers, without fences. */
  async leftovers(): Promise<string[]> {
    return (await Promise.all(this.servers.map((server) => server.leftovers()))).flat();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

/** Independent Redis servers that keep what they promise on disk, until they are wiped. */
export class DurableMasters extends Masters {
  readonly #directories: readonly string[];

  private constructor(servers: readonly RedisServer[], directories: readonly string[], stack: AsyncDisposableStack) {
    super(servers, stack);
    this.#directories = directories;
  }

  /** Starts so many servers, which write to disk what they do before they answer. */
  static override async start(count: number): Promise<DurableMasters> {
    await using stack = new AsyncDisposableStack();
    const directories = Array.from({ length: count }, () => {
      const directory = Deno.makeTempDirSync({ prefix: "holdfast_master_" });
      stack.defer(() => Deno.remove(directory, { recursive: true }));
      return directory;
    });
    const settings = directories.map((dir) => ["--dir", dir, "--appendonly", "yes", "--appendfsync", "always"]);
    return new DurableMasters(await startAll(settings, stack), directories, stack.move());
  }

  /** Deletes the data of a server that was killed. */
  async wipe(place: number): Promise<void> {
    const directory = this.#directories[place]!;
    for await (const { name } of Deno.readDir(directory)) {
      await Deno.remove(`${directory}/${name}`, { recursive: true });
    }
  }
}

/**
 * Has a store on several servers resolve a grant only when all of its connected clients have been answered, as they are
 * on a machine that is not busy, and returns it. Else the server that has the queue may execute the request of a waiter
 * before that of the holder, which others have granted: then the waiter is in no queue yet.
 */
export function settling<S extends Store>(store: S, clients: readonly Redis[]): S {
  const attempt = store.attempt.bind(store);
  store.attempt = async (claim, options) => {
    const answer = await attempt(claim, options);
    if (answer.granted) await Promise.all(clients.map((client) => client.ping()));
    return answer;
  };
  return store;
}

async function startAll(settings: string[][], stack: AsyncDisposableStack): Promise<RedisServer[]> {
  const starting = settings.map((each) => RedisServer.start(each));
  // All of them, also when one fails to start.
  const started = await Promise.allSettled(starting);
  for (const each of started) if (each.status === "fulfilled") stack.use(each.value);
  return await Promise.all(starting);
}
