import { MemcacheClient } from "memcache-client";
import { findProgram, type Found } from "./debian_programs.ts";
import { inTime } from "./in_time.ts";
import { freePort } from "./free_port.ts";
import { ServerProcess, startedServer } from "./server_process.ts";
import { TestServer } from "./test_server.ts";
import { HANG_MS, until } from "./until.ts";

/** What the last line of a reply begins with. */
const LAST_LINE = /^(?:END|OK|DELETED|NOT_FOUND|BUSY|ERROR|CLIENT_ERROR|SERVER_ERROR)\b.*\r\n$/m;

/** Finds a memcached: the one that MEMCACHED names, or one in the PATH. */
export function findMemcached(): Found {
  return findProgram("memcached", "MEMCACHED");
}

/** A memcached server that a test has started, on a free port of the loopback interface. */
export class MemcachedServer extends TestServer {
  readonly port: number = freePort();
  readonly #settings: readonly string[];
  readonly #clients = new Set<MemcacheClient>();

  private constructor(settings: readonly string[]) {
    super();
    this.#settings = settings;
  }

  /** Starts a server; settings are those of its command line, such as `"-m", "8"` for its memory in MB. */
  static async start(settings: readonly string[] = []): Promise<MemcachedServer> {
    return await startedServer(() => new MemcachedServer(settings), (server) => server.start());
  }

  /** Where clients connect. */
  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Starts the process, and waits until it answers. */
  async start(): Promise<void> {
    const found = findMemcached();
    if ("missing" in found) throw new Error(found.missing);
    const process = this.process = new ServerProcess(found.program, {
      // As root it wants to be told so.
      args: ["-l", "127.0.0.1", "-p", `${this.port}`, "-u", "root", ...this.#settings],
    });
    for (let tries = 0;; tries++) {
      try {
        const stats = await this.command("stats");
        // Another process may have been quicker on that port.
        if (stats.includes(`STAT pid ${process.pid}\r\n`)) return;
        throw new Error(`another server has taken port ${this.port}`);
      } catch (error) {
        if (process.ended || tries === 6_000) throw error;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
  }

  /** Returns a new client of this server, closed with it. */
  connect(): MemcacheClient {
    const client = new MemcacheClient({ server: this.address });
    this.#clients.add(client);
    return client;
  }

  /** Sends one command over a connection of its own, and returns the reply. */
  async command(line: string): Promise<string> {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: this.port });
    return await inTime(reply(connection, line), HANG_MS, `the answer to "${line}"`);
  }

  /** Returns the keys on the server. */
  async keys(): Promise<string[]> {
    let dump = "BUSY";
    // The server refuses while its crawler is at work for itself.
    await until(async () => !(dump = await this.command("lru_crawler metadump hash")).startsWith("BUSY"), "it lists");
    return Array.from(dump.matchAll(/^key=(\S+) /gm), ([, key]) => decodeURIComponent(key!));
  }

  /** Returns the values on the server. */
  async values(): Promise<string[]> {
    const replies = await Promise.all((await this.keys()).map((key) => this.command(`get ${key}`)));
    return replies.flatMap((reply) => reply.match(/^VALUE [^\n]*\n([^]*)\r\nEND\r\n$/)?.[1] ?? []);
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.shutdown();
    await this.kill();
  }
}

/** Sends one command, and returns the reply. */
async function reply(connection: Deno.Conn, line: string): Promise<string> {
  await connection.write(new TextEncoder().encode(`${line}\r\n`));
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(65_536);
  let text = "";
  while (!LAST_LINE.test(text)) {
    const size = await connection.read(buffer);
    if (size === null) throw new Error(`the connection was closed after ${JSON.stringify(text)}`);
    text += decoder.decode(buffer.subarray(0, size), { stream: true });
  }
  return text;
}
