import { connect, createServer, type Server, type Socket } from "node:net";
import { Redis, type RedisOptions } from "ioredis";
import { closed } from "./redis_server.ts";
import { inTime } from "./in_time.ts";
import { HANG_MS } from "./until.ts";
import { Link, type Manners } from "./tcp_link.ts";

/** What happens to the replies of a connection, or to its requests, from the request on that is waited for. */
type Fault = "lose" | "stall" | "hold";

/** A request that is waited for. */
interface Expected {
  readonly request: string;
  readonly fault: Fault;
  /** How many bytes of the replies arrive before the fault. */
  readonly after: number;
  readonly struck: () => void;
  readonly given: (error: Error) => void;
}

/**
 * A network between clients and a server on the loopback interface, to be broken in the ways in which networks break.
 */
export class TcpProxy implements AsyncDisposable {
  #target: number;
  readonly #listener: Server;
  readonly #links = new Set<Link>();
  readonly #clients: Redis[] = [];
  /** How new connections are. */
  #manners: Manners = {};
  readonly #expected = new Set<Expected>();

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

  /** Cuts every connection, and leads those that are made later to another port. */
  redirect(target: number): void {
    this.#target = target;
    this.cut();
  }

  /** Returns a new client of the server behind the proxy, closed with the proxy. */
  connect(options: Omit<RedisOptions, "replyMapping"> = {}): Redis {
    const client = new Redis(this.port, "127.0.0.1", options);
    client.on("error", () => {});
    this.#clients.push(client);
    return client;
  }

  /**
   * Lets the next request that contains a text reach the server, drops the reply and cuts the connection. Resolves when
   * that has happened: by then the server has executed the request. The first bytes of the reply arrive, as `after`
   * says.
   */
  loseReply(request: string, after = 0): Promise<void> {
    return this.#expect(request, "lose", after);
  }

  /**
   * Lets the next request that contains a text reach the server, and holds back all further replies of its connection
   * until `resume()`. Resolves when the request has come.
   */
  stallReply(request: string): Promise<void> {
    return this.#expect(request, "stall");
  }

  /**
   * Holds back the next request that contains a text, and all further requests of its connection, until `resume()`.
   * Resolves when the request has come.
   */
  holdRequest(request: string): Promise<void> {
    return this.#expect(request, "hold");
  }

  /** Holds back the replies and messages of every connection, until `resume()`. */
  stall(): void {
    this.disturb({ replies: "hold" });
  }

  /** Changes how every connection is, also those that are made later, until `resume()`. */
  disturb(manners: Manners): void {
    this.#manners = { ...this.#manners, ...manners };
    for (const link of this.#links) link.manners = manners;
  }

  /**
   * Makes every connection one whose other end vanished without a word, for both ends; `resume()` cuts it. Connections
   * that are made later work. With `port`, only the connection that the server sees come from there.
   */
  halfOpen(port?: number): void {
    for (const link of this.#links) {
      if (port !== undefined && link.server.localPort !== port) continue;
      link.halfOpen = true;
      link.manners = { requests: "drop", replies: "drop" };
    }
  }

  /** Cuts every connection. */
  cut(): void {
    for (const link of this.#links) link.cut();
  }

  /** Resets every connection, as a system does whose program died before it had read all that came. */
  reset(): void {
    for (const link of this.#links) link.reset();
  }

  /** Delivers what was held back, and passes on what comes; a connection that has lost something is cut. */
  resume(): void {
    this.#manners = {};
    for (const link of this.#links) {
      if (link.halfOpen || link.requests.lossy || link.replies.lossy) link.cut();
      else link.manners = { requests: "pass", replies: "pass" };
    }
  }

  /** Stops waiting for requests, what waits for one rejects, and lets replies arrive that were to be lost. */
  forget(): void {
    for (const { request, given } of this.#expected) given(new Error(`no request with "${request}" came`));
    this.#expected.clear();
    for (const link of this.#links) {
      link.lost?.given(new Error("no reply came that was to be lost"));
      link.lost = undefined;
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

  #expect(request: string, fault: Fault, after = 0): Promise<void> {
    const { promise, resolve: struck, reject: given } = Promise.withResolvers<void>();
    this.#expected.add({ request, fault, after, struck, given });
    return inTime(promise, HANG_MS, `a request with "${request}"`);
  }

  #accept(client: Socket): void {
    const server = connect(this.#target, "127.0.0.1");
    const link = new Link(client, server);
    link.manners = this.#manners;
    this.#links.add(link);
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on("error", () => {}); // The close that follows is passed on to the other side.
      socket.on("close", () => {
        link[socket === client ? "replies" : "requests"].end();
        link.lost?.given(new Error("the connection was closed before the reply came"));
        if (client.closed && server.closed) this.#links.delete(link);
        else if (!link.halfOpen) (socket === client ? server : client).end();
      });
    }
    client.on("data", (request: Uint8Array) => {
      this.#watch(link, request);
      link.requests.push(request);
    });
    server.on("data", (reply: Uint8Array) => {
      const { lost } = link;
      if (lost === undefined) return link.replies.push(reply);
      const rest = lost.after;
      lost.after -= reply.length;
      if (lost.after > 0) return link.replies.push(reply);
      if (rest > 0) client.end(reply.subarray(0, rest));
      else client.destroy();
      server.destroy();
      lost.struck();
    });
  }

  #watch(link: Link, request: Uint8Array): void {
    if (this.#expected.size === 0) return;
    const text = new TextDecoder().decode(request);
    const expected = [...this.#expected].find((each) => text.includes(each.request));
    if (expected === undefined) return;
    this.#expected.delete(expected);
    if (expected.fault === "lose") {
      link.lost = { ...expected };
    } else {
      link.manners = expected.fault === "hold" ? { requests: "hold" } : { replies: "hold" };
      expected.struck();
    }
  }
}

/** Cuts a connection, and waits until that is done. */
async function gone(socket: Socket): Promise<void> {
  if (socket.closed) return;
  await new Promise<void>((resolve) => socket.once("close", () => resolve()).destroy());
}
