import { librariesOf, run } from "./debian_programs.ts";
import { findPgbouncer } from "./postgres.ts";
import { unprivileged } from "./postgres_server.ts";
import { freePort } from "./free_port.ts";
import { ServerProcess } from "./server_process.ts";
import { TestServer } from "./test_server.ts";
import { until } from "./until.ts";

/** A pgbouncer that a test has started in front of a server. */
export class Pgbouncer extends TestServer {
  readonly port: number = freePort();
  readonly #directory: string;

  private constructor(directory: string) {
    super();
    this.#directory = directory;
  }

  /** Starts it in front of a server on this port, and waits until it accepts connections. */
  static async start(server: { readonly port: number }, mode: "transaction" | "session"): Promise<Pgbouncer> {
    const pooler = new Pgbouncer(await Deno.makeTempDir({ prefix: "holdfast_pgbouncer_" }));
    try {
      await Deno.writeTextFile(pooler.#file, configuration(server.port, pooler.port, mode));
      await pooler.start();
      return pooler;
    } catch (error) {
      await pooler[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Where clients connect. */
  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  /** Where clients connect that ask for its state. */
  get console(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/pgbouncer`;
  }

  get #file(): string {
    return `${this.#directory}/pgbouncer.ini`;
  }

  /** Starts the process. */
  async start(): Promise<void> {
    const found = findPgbouncer();
    if ("missing" in found) throw new Error(found.missing);
    // As PostgreSQL it refuses to run as root.
    const { uid, gid } = await unprivileged();
    if (uid !== undefined) await run("chown", ["-R", `${uid}:${gid}`, this.#directory], "/");
    const process = this.process = new ServerProcess(found.program, {
      args: ["-q", this.#file],
      env: librariesOf(found.program),
      ...await unprivileged(),
      cwd: this.#directory,
    });
    await until(async () => {
      if (process.ended) throw new Error(`pgbouncer does not start on port ${this.port}`);
      return await accepts(this.port);
    }, "pgbouncer accepts connections");
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await Deno.remove(this.#directory, { recursive: true });
  }
}

function configuration(server: number, port: number, mode: string): string {
  return `[databases]
* = host=127.0.0.1 port=${server} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = 4
max_client_conn = 200
server_login_retry = 1
ignore_startup_parameters = extra_float_digits, options
`;
}

async function accepts(port: number): Promise<boolean> {
  try {
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    return true;
  } catch {
    return false;
  }
}
