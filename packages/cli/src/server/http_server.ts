import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";

/** Answers a request, as servers of the web platform do. */
export type Handler = (request: Request) => Promise<Response>;

/** The longest request body that is read, in bytes. */
const MAX_BODY = 65_536;

/** An HTTP server in Deno, Node and Bun, for a handler of the web platform's requests. */
export class HttpServer {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Starts a server; port 0 means any free port. Rejects if it cannot listen. */
  static start(handler: Handler, port: number, host: string): Promise<HttpServer> {
    const server = createServer((message, response) => void answer(handler, message, response));
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, host, () => {
        server.off("error", reject);
        resolve(new HttpServer(server));
      });
    });
  }

  /** The port of the server. */
  get port(): number {
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  /** Closes all connections, and stops listening. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }
}

async function answer(handler: Handler, message: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const request = await requestOf(message);
    await send(
      typeof request === "number" ? new Response(null, { status: request }) : await handler(request),
      response,
    );
  } catch {
    // The handler does not reject: the connection is broken.
    response.destroy();
  }
}

/** Returns the request of a message, or the status for a message that is no request. */
async function requestOf(message: IncomingMessage): Promise<Request | number> {
  const headers = new Headers();
  try {
    const { rawHeaders } = message;
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) headers.append(rawHeaders[i]!, rawHeaders[i + 1]!);
    // A path that begins with two slashes is still a path.
    const url = new URL(`http://${message.headers.host ?? ""}${message.url ?? "/"}`);
    const { method = "GET" } = message;
    if (method === "GET" || method === "HEAD") return new Request(url, { method, headers });
    const body = await bodyOf(message);
    return body === undefined ? 413 : new Request(url, { method, headers, body });
  } catch {
    return 400;
  }
}

/** Returns the body of a message; `undefined` if it is too long. */
async function bodyOf(message: IncomingMessage): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of message) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MAX_BODY) return undefined;
  }
  const body = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.length;
  }
  return body;
}

async function send(from: Response, to: ServerResponse): Promise<void> {
  const headers: Record<string, string | string[]> = Object.fromEntries(from.headers);
  const cookies = from.headers.getSetCookie();
  to.writeHead(from.status, cookies.length === 0 ? headers : { ...headers, "set-cookie": cookies });
  const reader = from.body?.getReader();
  if (reader === undefined) return void to.end();
  // The browser is gone: whoever makes the body may stop.
  to.once("close", () => void reader.cancel().catch(() => {}));
  to.flushHeaders();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    if (!to.write(read.value)) await drained(to);
  }
  to.end();
}

/** Resolves when a response accepts more data, or never will. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.once("drain", done);
    response.once("close", done);
    if (response.destroyed) done();
  });
}
