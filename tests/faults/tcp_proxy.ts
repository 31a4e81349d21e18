import { deadline } from "@std/async";
import { connect, createServer, type Server, type Socket } from "node:net";
import { Redis, type RedisOptions } from "ioredis";
import { closed } from "../redis_server.ts";

/** How long the request that is waited for may take to come, in milliseconds. */
const EXPECTED = 20_000;

/** What happens to the replies of a connection, from the request on that is waited for. */
type Fault = "lose" | "stall";

/** One connection through the proxy. */
interface Link {
  readonly client: Socket;
  readonly server: Socket;
  /** The replies that are held back; `undefined` while they pass. */
  held: Uint8Array[] | undefined;
  /** Runs when the next reply has come, which is then lost together with the connection. */
  lost: (() => void) | undefined;
}

/** A network between clients and a server on the loopback interface, to be broken in the ways in which networks break. */
export class TcpProxy implements AsyncDisposable {
  readonly #target: number;
  readonly #listener: Server;
  readonly #links = new Set<Link>();
  readonly #clients: Redis[] = [];
  #stalled = false;
  #expected: { readonly request: string; readonly fault: Fault; readonly struck: () => void } | undefined;

  private constructor(target: number) {
    this.#target = target;
    this.#listener = createServer((client) => this.#accept(client));
  }

  /** Starts a proxy in front of a port. */
  static async start(target: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(target);
    await new Promise<void>((resolve) => proxy.#listener.listen(0, "127.0.0.1", () => resolve()));
    return proxy;
  }

  /** Where it listens. */
  get port(): number {
    const address = this.#listener.address();
    if (address === null || typeof address === "string") throw new Error("the proxy does not listen");
    return address.port;
  }

  /** A new client of the server behind the proxy, closed with the proxy. */
  connect(options: Omit<RedisOptions, "replyMapping"> = {}): Redis {
    const client = new Redis(this.port, "127.0.0.1", options);
    client.on("error", () => {});
    this.#clients.push(client);
    return client;
  }

  /**
   * Lets the next request that contains a text reach the server, drops the reply and cuts the connection. Resolves when
   * that has happened: by then the server has executed the request.
   */
  loseReply(request: string): Promise<void> {
    return this.#expect(request, "lose");
  }

  /**
   * Lets the next request that contains a text reach the server, and holds back all further replies of its connection
   * until `resume()`. Resolves when the request has come.
   */
  stallReply(request: string): Promise<void> {
    return this.#expect(request, "stall");
  }

  /** Holds back the replies and messages of every connection, until `resume()`. */
  stall(): void {
    this.#stalled = true;
    for (const link of this.#links) link.held ??= [];
  }

  /** Delivers what was held back, and passes on what comes. */
  resume(): void {
    this.#stalled = false;
    for (const link of this.#links) {
      for (const reply of link.held ?? []) link.client.write(reply);
      link.held = undefined;
    }
  }

  /** Refuses new connections; those that there are stay. */
  refuse(): void {
    if (this.#listener.listening) this.#listener.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.resume();
    await Promise.all(this.#clients.map(closed));
    this.refuse();
    await Promise.all([...this.#links].flatMap(({ client, server }) => [gone(client), gone(server)]));
  }

  #expect(request: string, fault: Fault): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#expected = { request, fault, struck: resolve };
    return deadline(promise, EXPECTED);
  }

  #accept(client: Socket): void {
    const server = connect(this.#target, "127.0.0.1");
    const link: Link = { client, server, held: this.#stalled ? [] : undefined, lost: undefined };
    this.#links.add(link);
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on("error", () => {}); // The other side hears of the end that follows.
      socket.on("close", () => {
        if (client.closed && server.closed) this.#links.delete(link);
      });
    }
    client.on("close", () => server.end());
    server.on("close", () => client.end());
    client.on("data", (request) => {
      this.#watch(link, request);
      server.write(request);
    });
    server.on("data", (reply) => {
      if (link.lost !== undefined) {
        client.destroy();
        link.lost();
      } else if (link.held !== undefined) link.held.push(reply);
      else client.write(reply);
    });
  }

  #watch(link: Link, request: Uint8Array): void {
    const expected = this.#expected;
    if (expected === undefined || !new TextDecoder().decode(request).includes(expected.request)) return;
    this.#expected = undefined;
    if (expected.fault === "lose") {
      link.lost = expected.struck;
    } else {
      link.held ??= [];
      expected.struck();
    }
  }
}

/** Cuts a connection, and waits until that is done. */
async function gone(socket: Socket): Promise<void> {
  if (socket.closed) return;
  await new Promise<void>((resolve) => socket.once("close", () => resolve()).destroy());
}
