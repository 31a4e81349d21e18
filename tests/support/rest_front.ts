import type { UpstashOptions } from "@holdfast/lock/upstash";

/** Answers a request: `run` sends its command to the server, and returns what that has replied. */
type Answering = (words: readonly string[], run: () => Promise<Response>) => Response | Promise<Response>;

/** A reply as JSON, and where the next one begins. */
type Parsed = readonly [json: string, end: number];

const [encoder, decoder] = [new TextEncoder(), new TextDecoder()];

/**
 * A front that speaks the REST protocol that Upstash documents, over a real Redis server: a command is a JSON array
 * that is posted to `/` with a token, the answer has a `result` or an `error`. Integers are exact, as in the replies of
 * Redis.
 */
export class RestFront implements AsyncDisposable {
  readonly token: string;
  /** The commands that have come, in their order. */
  readonly commands: (readonly string[])[] = [];
  /** How requests are answered, once their token was checked. */
  answering: Answering = (_, run) => run();
  readonly #port: number;
  readonly #database: number;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #idle: Deno.TcpConn[] = [];
  /** What ends each subscription. */
  readonly #streams = new Set<() => void>();
  #closed: Promise<void> | undefined;

  /** Listens at once, in front of the server on a port of the loopback interface. */
  constructor(port: number, database = 0, token: string = crypto.randomUUID()) {
    this.token = token;
    this.#port = port;
    this.#database = database;
    this.#server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => this.#answer(request));
  }

  get port(): number {
    return this.#server.addr.port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** What `upstash()` needs to use it. */
  get options(): UpstashOptions {
    return { url: this.url, token: this.token };
  }

  async #answer(request: Request): Promise<Response> {
    const body = await request.text().catch(() => undefined);
    if (body === undefined) return new Response(null, { status: 400 }); // The client has gone.
    if (request.headers.get("authorization") !== `Bearer ${this.token}`) {
      return Response.json({ error: "WRONGPASS invalid or missing auth token" }, { status: 401 });
    }
    const [, channel] = /^\/subscribe\/([^/]+)$/.exec(new URL(request.url).pathname) ?? [];
    if (channel !== undefined && request.method === "GET" && request.headers.get("accept") === "text/event-stream") {
      const words = ["SUBSCRIBE", decodeURIComponent(channel)];
      this.commands.push(words);
      return await this.answering(words, () => this.#stream(words));
    }
    if (request.method !== "POST" || new URL(request.url).pathname !== "/") {
      return Response.json({ error: "ERR not found" }, { status: 404 });
    }
    const words: string[] = JSON.parse(body);
    this.commands.push(words);
    return await this.answering(words, () => this.#run(words));
  }

  async #run(words: readonly string[]): Promise<Response> {
    let connection: Deno.TcpConn | undefined;
    try {
      connection = this.#idle.pop() ?? await this.#connect();
      const json = await send(connection, words);
      if (this.#closed === undefined) this.#idle.push(connection);
      else connection.close();
      return new Response(json, { status: json.startsWith('{"error"') ? 400 : 200 });
    } catch (error) {
      connection?.close();
      // A connection that was idle may be one to a server that was restarted since.
      for (const idle of this.#idle.splice(0)) idle.close();
      return new Response(`the server is away: ${error}`, { status: 502 });
    }
  }

  /** Subscribes to a channel, and passes on what the server sends. */
  async #stream(words: readonly string[]): Promise<Response> {
    const connection = await this.#connect().catch(() => undefined);
    if (connection === undefined) return new Response("the server is away", { status: 502 });
    await write(connection, words);
    let [open, read] = [true, new Uint8Array()];
    const close = () => {
      if (open) connection.close();
      open = false;
      this.#streams.delete(close);
    };
    this.#streams.add(close);
    const body = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const chunk = await receive(connection).catch(() => null);
        if (chunk === null) return controller.close();
        read = joined(read, chunk);
        for (let parsed = parse(read, 0); parsed !== undefined; parsed = parse(read, 0)) {
          controller.enqueue(encoder.encode(`data: ${JSON.parse(parsed[0]).join(",")}\n\n`));
          read = read.slice(parsed[1]);
        }
      },
      cancel: close,
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }

  async #connect(): Promise<Deno.TcpConn> {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: this.#port });
    if (this.#database > 0) await send(connection, ["SELECT", `${this.#database}`]);
    return connection;
  }

  /** How many subscriptions there are. */
  get subscriptions(): number {
    return this.#streams.size;
  }

  /** Ends all subscriptions. */
  cut(): void {
    for (const close of this.#streams) close();
  }

  /** Closes it; the server stays. */
  close(): Promise<void> {
    for (const idle of this.#idle.splice(0)) idle.close();
    this.cut();
    return this.#closed ??= this.#server.shutdown();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** Sends a command, and resolves to the answer of the protocol. */
async function send(connection: Deno.TcpConn, words: readonly string[]): Promise<string> {
  await write(connection, words);
  let read = new Uint8Array();
  for (;;) {
    const chunk = await receive(connection);
    if (chunk === null) throw new Error("the server has closed the connection");
    read = joined(read, chunk);
    const parsed = parse(read, 0);
    if (parsed !== undefined) return read[0] === "-".charCodeAt(0) ? parsed[0] : `{"result":${parsed[0]}}`;
  }
}

async function write(connection: Deno.TcpConn, words: readonly string[]): Promise<void> {
  const bulks = words.map((word) => `$${encoder.encode(word).length}\r\n${word}\r\n`);
  const request = encoder.encode(`*${words.length}\r\n${bulks.join("")}`);
  for (let sent = 0; sent < request.length;) sent += await connection.write(request.subarray(sent));
}

/** Reads what has come; `null` at the end. */
async function receive(connection: Deno.TcpConn): Promise<Uint8Array<ArrayBuffer> | null> {
  const chunk = new Uint8Array(65_536);
  const count = await connection.read(chunk);
  return count === null ? null : chunk.subarray(0, count);
}

function joined(first: Uint8Array<ArrayBuffer>, second: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

/** Reads a reply of RESP2; returns `undefined` if it has not come to its end. */
function parse(bytes: Uint8Array, start: number): Parsed | undefined {
  const lineEnd = bytes.indexOf(13, start);
  if (lineEnd < 0 || lineEnd + 2 > bytes.length) return undefined;
  const [type, line] = [String.fromCharCode(bytes[start]!), decoder.decode(bytes.subarray(start + 1, lineEnd))];
  const next = lineEnd + 2;
  if (type === ":") return [line, next];
  if (type === "+") return [JSON.stringify(line), next];
  if (type === "-") return [JSON.stringify({ error: line }), next];
  if (line === "-1") return ["null", next];
  if (type === "$") {
    const end = next + Number(line);
    return end + 2 > bytes.length ? undefined : [JSON.stringify(decoder.decode(bytes.subarray(next, end))), end + 2];
  }
  const items: string[] = [];
  let at = next;
  while (items.length < Number(line)) {
    const item = parse(bytes, at);
    if (item === undefined) return undefined;
    items.push(item[0]);
    at = item[1];
  }
  return [`[${items.join(",")}]`, at];
}
