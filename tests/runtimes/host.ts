import { freePort, RedisServer } from "../support/redis_server.ts";
import type { Operation, Started } from "./inside/settings.ts";

/** Starts and stops Redis servers for tests that run in another runtime, and ask for it over HTTP. */
export class Host implements AsyncDisposable {
  readonly #servers = new Map<number, RedisServer>();
  readonly #http: Deno.HttpServer<Deno.NetAddr>;
  #opened = 0;

  constructor() {
    this.#http = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => this.#answer(request));
  }

  /** Where it listens. */
  get url(): string {
    return `http://127.0.0.1:${this.#http.addr.port}/`;
  }

  /** Ports that nobody listens on. */
  freePorts(count: number): number[] {
    return Array.from({ length: count }, freePort);
  }

  async #answer(request: Request): Promise<Response> {
    try {
      return Response.json(await this.#do(await request.json()) ?? null);
    } catch (error) {
      return new Response(error instanceof Error ? error.message : String(error), { status: 500 });
    }
  }

  async #do(operation: Operation): Promise<unknown> {
    if (operation.do === "open") {
      const server = await RedisServer.start(operation.args);
      const id = this.#opened++;
      this.#servers.set(id, server);
      return { id, port: server.port } satisfies Started;
    }
    const server = this.#servers.get(operation.id);
    if (server === undefined) throw new Error(`there is no server ${operation.id}`);
    if (operation.do === "command") return await server.command(...operation.words);
    if (operation.do === "start") return await server.start();
    if (operation.do === "kill") return await server.kill();
    if (operation.do === "leftovers") return await server.leftovers();
    this.#servers.delete(operation.id);
    return await server[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#http.shutdown();
    await Promise.all([...this.#servers.values()].map((server) => server[Symbol.asyncDispose]()));
  }
}
