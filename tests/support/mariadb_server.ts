import { createConnection } from "mysql2/promise";
import { findMariadb } from "./mariadb.ts";
import { librariesOf, run } from "./debian_programs.ts";
import { freePort } from "./free_port.ts";
import { type ServerCommand, ServerProcess, startedServer } from "./server_process.ts";
import { TestServer } from "./test_server.ts";
import { HANG_MS } from "./until.ts";

/** The files of the package that make the tables of the system, in this order. */
const SCRIPTS = [/^(mysql|mariadb)_system_tables\.sql$/, /^(mysql|mariadb)_system_tables_data\.sql$/];

/** Whose process it is when the tests run as root. */
const USER = "nobody";

/** The user that may do everything, from the loopback interface and without a password. */
const ROOT = `REPLACE INTO global_priv VALUES ('127.0.0.1', 'root', '{"access":18446744073709551615}');`;

/** How many lines of its log say why it has ended: a stack is among them. */
const LAST_LINES = 60;

/** How a server is started, besides its settings. */
export interface MariadbServerOptions {
  /** The environment of the process, such as that of a `ProcessClock`. */
  readonly env?: Record<string, string> | undefined;
  /** Where its files are; where temporary ones are if left out. */
  readonly folder?: string | undefined;
  /** The words of a command that starts the program of the server, if that is not started as it is. */
  readonly startedBy?: readonly string[] | undefined;
}

/** A MariaDB server that a test has started, on a free port of the loopback interface. */
export class MariadbServer extends TestServer {
  readonly port: number = freePort();
  readonly #program: string;
  /** Where the package has its messages and scripts. */
  readonly #shared: string;
  readonly #directory: string;
  readonly #settings: readonly string[];
  readonly #env: Record<string, string> | undefined;
  readonly #startedBy: readonly string[];

  private constructor(settings: readonly string[], { env, folder, startedBy = [] }: MariadbServerOptions) {
    super();
    const found = findMariadb();
    if ("missing" in found) throw new Error(found.missing);
    this.#program = found.program;
    this.#shared = sharedBy(found.program);
    const place = folder === undefined ? {} : { dir: folder };
    this.#directory = Deno.makeTempDirSync({ ...place, prefix: "holdfast_mariadb_" });
    this.#settings = settings;
    this.#env = env;
    this.#startedBy = startedBy;
  }

  /**
   * Starts an empty server with the database `holdfast`. Settings are those of its command line, such as
   * `"--innodb-flush-log-at-trx-commit=2"`.
   */
  static async start(settings: readonly string[] = [], options: MariadbServerOptions = {}): Promise<MariadbServer> {
    return await startedServer(() => new MariadbServer(settings, options), async (server) => {
      await server.#install();
      await server.start();
    });
  }

  /** The options with which clients connect as the user that may do everything. */
  get options(): { host: string; port: number; user: string; database: string } {
    return { host: "127.0.0.1", port: this.port, user: "root", database: "holdfast" };
  }

  /** Where the same user connects. */
  get url(): string {
    const { host, port, user, database } = this.options;
    return `mysql://${user}@${host}:${port}/${database}`;
  }

  /** The file of its log; to a name without an extension it would add one. */
  get #log(): string {
    return `${this.#directory}/log.err`;
  }

  /** Makes the tables of the system, in 0.3 s: less than it would take to keep and copy them. */
  async #install(): Promise<void> {
    if (Deno.uid() === 0) await run("chown", [USER, this.#directory], "/");
    const names = Array.from(Deno.readDirSync(this.#shared), ({ name }) => name);
    const scripts = SCRIPTS.map((script) => {
      return Deno.readTextFileSync(`${this.#shared}/${names.find((name) => script.test(name))}`);
    });
    const process = new Deno.Command(this.#program, {
      ...this.#command(["--bootstrap", "--skip-networking"]),
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const input = ["CREATE DATABASE mysql;", "CREATE DATABASE holdfast;", "USE mysql;", ...scripts, ROOT, ""].join(
      "\n",
    );
    const [, { success, stderr }] = await Promise.all([
      new Blob([input]).stream().pipeTo(process.stdin).catch(() => {}), // It says on stderr why it ended.
      process.output(),
    ]);
    if (!success) throw new Error(`mariadbd --bootstrap failed: ${new TextDecoder().decode(stderr)}`);
  }

  /** Starts the process, and waits until it answers. */
  async start(): Promise<void> {
    const command = this.#command([
      ...[
        "--bind-address=127.0.0.1",
        `--port=${this.port}`,
        // In its folder: a path of more than 107 bytes is none of a socket.
        "--socket=socket",
        "--skip-name-resolve",
      ],
      ...[`--pid-file=${this.#directory}/pid`, `--log-error=${this.#log}`],
      ...this.#settings,
    ]);
    const [program, ...words] = [...this.#startedBy, this.#program];
    const args = [...words, ...command.args ?? []];
    const process = this.process = new ServerProcess(program!, { ...command, args });
    for (const started = performance.now();;) {
      try {
        const [[row]] = await this.query("SELECT @@pid_file AS path");
        // Another process may have been quicker on that port.
        if (row?.["path"] === `${this.#directory}/pid`) return;
        throw new Error(`another server has taken port ${this.port}`);
      } catch (error) {
        if (process.ended) throw new Error(`${error}: ${await Deno.readTextFile(this.#log)}`);
        if (performance.now() - started > HANG_MS) throw error;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  /** Starts it again if it has ended by itself; then rejects with the last of what it has written. */
  async checkAlive(): Promise<void> {
    if (!this.process?.ended) return;
    const log = await Deno.readTextFile(this.#log);
    await this.start();
    throw new Error(`the server had ended by itself: ${log.trimEnd().split("\n").slice(-LAST_LINES).join("\n")}`);
  }

  #command(settings: readonly string[]): ServerCommand {
    return {
      args: [
        ...[
          "--no-defaults",
          `--tmpdir=${this.#directory}`,
          `--datadir=${this.#directory}`,
          `--lc-messages-dir=${this.#shared}`,
        ],
        ...Deno.uid() === 0 ? [`--user=${USER}`] : [],
        ...[
          "--innodb-log-file-size=4M",
          "--innodb-buffer-pool-size=16M",
          "--innodb-temp-data-file-path=ibtmp1:1M:autoextend",
        ],
        ...settings,
      ],
      env: { ...librariesOf(this.#program), ...this.#env },
    };
  }

  /** Runs one statement over a connection of its own. */
  async query(statement: string): Promise<[rows: Record<string, unknown>[], info: unknown]> {
    const connection = await createConnection({ ...this.options, multipleStatements: true });
    try {
      return await connection.query(statement) as unknown as [Record<string, unknown>[], unknown];
    } finally {
      connection.destroy();
    }
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await Deno.remove(this.#directory, { recursive: true });
  }
}

/** Returns where a package has its messages and scripts. */
function sharedBy(program: string): string {
  const prefix = program.includes("/") ? program.replace(/s?bin\/mariadbd$/, "") : "/usr/";
  const [shared] = ["mariadb", "mysql"].map((name) => `${prefix}share/${name}`).filter((path) => {
    try {
      return Array.from(Deno.readDirSync(path)).some(({ name }) => SCRIPTS[0]!.test(name));
    } catch {
      return false;
    }
  });
  if (shared === undefined) throw new Error(`there are no scripts for ${program} in ${prefix}share`);
  return shared;
}
