import { librariesOf, run, UNPACKED } from "./debian_programs.ts";
import { findPostgres } from "./postgres.ts";
import { freePort } from "./free_port.ts";
import { ServerProcess, startedServer } from "./server_process.ts";
import { until } from "./until.ts";

/** PostgreSQL refuses to run as root: then it runs as this user, who may write nowhere else. */
const [USER, GROUP] = ["nobody", "nogroup"];

/** How long a server may take to start or to end, in milliseconds: it may recover after a crash. */
const START_LIMIT_MS = 60_000;

/** What makes a server quick to start and to write, but for what a crash of the machine would lose. */
const SETTINGS: Readonly<Record<string, string>> = {
  "fsync": "off",
  "full_page_writes": "off",
  "max_connections": "100",
  "shared_buffers": "16MB",
  "jit": "off",
  "autovacuum": "off",
  "max_wal_senders": "4",
  "unix_socket_directories": "",
  "listen_addresses": "127.0.0.1",
  "log_min_messages": "fatal",
};

/** How a server is started. */
export interface PostgresServerOptions {
  /** Settings of postgresql.conf, which count more than those of the tests. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
  /** The environment of the process, such as that of a `ProcessClock`. */
  readonly env?: Record<string, string> | undefined;
  /** The program `postgres`; the one that `findPostgres()` finds if left out. */
  readonly program?: string | undefined;
  /** The encoding of the databases. */
  readonly encoding?: string | undefined;
  /** Where its files are; where temporary ones are if left out. */
  readonly folder?: string | undefined;
  /** The words of a command that starts the program of the server on a port, if that is not started as it is. */
  readonly startedBy?: ((port: number) => readonly string[]) | undefined;
}

/** A PostgreSQL server that a test has started, on a free port of the loopback interface. */
export class PostgresServer implements AsyncDisposable {
  readonly port: number = freePort();
  readonly #program: string;
  readonly #options: PostgresServerOptions;
  readonly #directory: string;
  #process: ServerProcess | undefined;

  private constructor(program: string, options: PostgresServerOptions, directory: string) {
    this.#program = program;
    this.#options = options;
    this.#directory = directory;
  }

  /** Starts a server on a new data directory. */
  static async start(options: PostgresServerOptions = {}): Promise<PostgresServer> {
    const program = options.program ?? postgresOrThrow();
    const make = async () => {
      const place = options.folder === undefined ? {} : { dir: options.folder };
      const directory = await Deno.makeTempDir({ ...place, prefix: "holdfast_postgres_" });
      return new PostgresServer(program, options, directory);
    };
    return await startedServer(make, async (server) => {
      await copy(await template(program, options.encoding ?? "UTF8"), `${server.#directory}/data`);
      await own(server.#directory);
      await server.start();
    });
  }

  /** Where clients connect, as the superuser of the database that every server has. */
  get url(): string {
    return this.urlOf("postgres");
  }

  /** Returns the same for another user. */
  urlOf(user: string): string {
    return `postgres://${user}@127.0.0.1:${this.port}/postgres`;
  }

  /** The id of its first process. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Starts the processes, and waits until they answer. Settings count more than those that were given before. */
  async start(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    const data = `${this.#directory}/data`;
    const all = { ...SETTINGS, ...this.#options.settings, ...settings, port: `${this.port}` };
    const [program, ...words] = [...this.#options.startedBy?.(this.port) ?? [], this.#program];
    const process = this.#process = new ServerProcess(program!, {
      args: [...words, "-D", data, ...Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`])],
      env: { ...librariesOf(this.#program), ...this.#options.env },
      ...await unprivileged(),
      cwd: this.#directory,
    });
    await until(
      async () => {
        if (process.ended) throw new Error(`PostgreSQL does not start on port ${this.port}`);
        return await isReady(`${data}/postmaster.pid`);
      },
      "PostgreSQL is ready",
      START_LIMIT_MS,
    );
  }

  /** Makes it a standby of another server, which is copied as it is. It starts then. */
  async follow(primary: PostgresServer): Promise<void> {
    const data = `${this.#directory}/data`;
    await this.kill();
    await Deno.remove(data, { recursive: true });
    const basebackup = `${await binariesOf(this.#program)}/pg_basebackup`;
    const args = ["-D", data, "-R", "-X", "stream", "-c", "fast", "-d", primary.url, "--no-sync"];
    await runUnprivileged(basebackup, args, this.#directory);
    await this.start();
  }

  /** Ends the processes as `pg_ctl stop -m fast` does: transactions are rolled back, connections closed. */
  async stop(): Promise<void> {
    await this.#end("SIGINT");
  }

  /**
   * Kills all processes. The others would notice the end of the first one, but not while the disk keeps them waiting.
   */
  async kill(): Promise<void> {
    const ids = this.#children();
    await this.#end("SIGKILL");
    for (const id of ids) send(id, "SIGKILL");
    await until(() => !ids.some(isAlive), "all processes of PostgreSQL have ended", START_LIMIT_MS);
  }

  /** Freezes all processes: they accept and answer nothing, and keep their connections. */
  freeze(): void {
    this.#process?.signal("SIGSTOP");
    for (const id of this.#children()) send(id, "SIGSTOP");
  }

  /** Lets them go on. */
  thaw(): void {
    for (const id of this.#children()) send(id, "SIGCONT");
    this.#process?.signal("SIGCONT");
  }

  async #end(signal: Deno.Signal): Promise<void> {
    const process = this.#process;
    this.#process = undefined;
    await process?.end(signal);
    // A killed one leaves it, and another one would be taken for it.
    await Deno.remove(`${this.#directory}/data/postmaster.pid`).catch(() => {});
  }

  /** Returns the ids of the processes that the first one has started. */
  #children(): number[] {
    const { pid } = this.#process ?? {};
    // One that has ended by itself has none.
    if (pid === undefined || !isAlive(pid)) return [];
    return Deno.readTextFileSync(`/proc/${pid}/task/${pid}/children`).split(" ").filter(Boolean).map(Number);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process !== undefined) {
      this.thaw();
      await this.kill();
    }
    await Deno.remove(this.#directory, { recursive: true });
  }
}

/** Returns whether the file that a server writes about itself says that it is ready. */
async function isReady(file: string): Promise<boolean> {
  try {
    return (await Deno.readTextFile(file)).split("\n")[7]?.trim() === "ready";
  } catch {
    return false;
  }
}

function postgresOrThrow(): string {
  const found = findPostgres();
  if ("missing" in found) throw new Error(found.missing);
  return found.program;
}

/** Returns a data directory to be copied. It is made once for each version and encoding: that takes a second. */
async function template(program: string, encoding: string): Promise<string> {
  const { stdout } = await new Deno.Command(program, { args: ["--version"], env: librariesOf(program) }).output();
  const version = new TextDecoder().decode(stdout).match(/[\d.]+/)?.[0] ?? "unknown";
  const cache = Deno.uid() === 0 ? UNPACKED : (Deno.env.get("TMPDIR") ?? "/tmp");
  const made = `${cache}/postgres_${version}_${encoding}`;
  if (await exists(made)) return made;
  await Deno.mkdir(cache, { recursive: true });
  const directory = await Deno.makeTempDir({ dir: cache, prefix: "postgres_" });
  try {
    await own(directory);
    const args = [
      "-D",
      `${directory}/data`,
      "-U",
      "postgres",
      "-A",
      "trust",
      "-E",
      encoding,
      "--locale=C",
      "--no-sync",
    ];
    await runUnprivileged(`${await binariesOf(program)}/initdb`, [...args, "--wal-segsize=1"], directory);
    // Another process may have been quicker.
    await Deno.rename(`${directory}/data`, made).catch(() => {});
    return made;
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

async function copy(from: string, to: string): Promise<void> {
  await run("cp", ["-R", from, to], "/");
}

/** Runs a program of PostgreSQL that refuses to run as root, too. */
async function runUnprivileged(program: string, args: string[], cwd: string): Promise<void> {
  const command = new Deno.Command(program, {
    args,
    cwd,
    env: librariesOf(program),
    ...await unprivileged(),
    stdin: "null",
  });
  const { success, stderr } = await command.output();
  if (!success) throw new Error(`${program} failed: ${new TextDecoder().decode(stderr).trim()}`);
}

/** Gives a folder to the user that servers run as. */
async function own(directory: string): Promise<void> {
  const { uid, gid } = await unprivileged();
  if (uid !== undefined) await run("chown", ["-R", `${uid}:${gid}`, directory], "/");
}

/** Returns as whom a program runs that refuses to run as root. */
export async function unprivileged(): Promise<{ uid?: number; gid?: number }> {
  if (Deno.uid() !== 0) return {};
  return { uid: await idOf("/etc/passwd", USER), gid: await idOf("/etc/group", GROUP) };
}

async function idOf(file: string, name: string): Promise<number> {
  const line = (await Deno.readTextFile(file)).split("\n").find((line) => line.startsWith(`${name}:`));
  if (line === undefined) throw new Error(`${file} has no ${name}`);
  return Number(line.split(":")[2]);
}

/** Returns the folder of a program, where its siblings are. */
async function binariesOf(program: string): Promise<string> {
  const places = program.includes("/") ? [program] : (Deno.env.get("PATH") ?? "").split(":").map((folder) => {
    return `${folder}/${program}`;
  });
  for (const place of places) {
    if (await exists(place)) return (await Deno.realPath(place)).replace(/\/[^/]*$/, "");
  }
  throw new Error(`${program} is not in the PATH`);
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

function isAlive(id: number): boolean {
  try {
    // One that has ended and was not waited for is none.
    return !/^State:\tZ/m.test(Deno.readTextFileSync(`/proc/${id}/status`));
  } catch {
    return false;
  }
}

/** Sends a signal, unless the process has ended already: Ctrl-C reaches all processes of a terminal. */
function send(id: number, signal: Deno.Signal): void {
  try {
    Deno.kill(id, signal);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
