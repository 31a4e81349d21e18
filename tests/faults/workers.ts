import { deadline } from "@std/async";
import { RedisServer } from "../redis_server.ts";
import { lines } from "./lines.ts";
import type { Command, Report } from "./worker.ts";
import { withoutCoverage } from "../without_coverage.ts";

/** How long a report may take, in milliseconds: a process starts in 0.3 s, and in several under load. */
const REPORT_LIMIT = 60_000;

type Reported<Type extends Report["type"]> = Extract<Report, { type: Type }>;

/** A process that takes locks when it is told to. */
export class WorkerProcess implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #reading: Promise<void>;
  readonly #unread: Report[] = [];
  #arrival = Promise.withResolvers<void>();
  #ended = false;

  /** Starts a process that uses a store of this kind at this address. */
  constructor(kind: StoreKind, address: string) {
    this.#process = new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--allow-all", import.meta.resolve("./worker.ts"), kind, address],
      clearEnv: true,
      env: withoutCoverage(),
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#input = this.#process.stdin.getWriter();
    this.#reading = this.#read();
  }

  /** Tells it what to do. */
  async tell(command: Command): Promise<void> {
    await this.#input.write(new TextEncoder().encode(`${JSON.stringify(command)}\n`));
  }

  /** The next report of this type. Rejects when a command fails, unless that is what is asked for. */
  async next<Type extends Report["type"]>(type: Type): Promise<Reported<Type>> {
    try {
      return await deadline(this.#next(type), REPORT_LIMIT);
    } catch (error) {
      throw new Error(`no report "${type}" of a worker`, { cause: error });
    }
  }

  /** Sends it a signal. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#process.kill(signal);
  }

  /** Kills it without a warning, and waits until it is gone. */
  async kill(): Promise<void> {
    // The process may have ended by itself.
    if (!this.#ended) this.#process.kill("SIGKILL");
    await this.#process.status;
    await this.#reading;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await this.#input.abort().catch(() => {});
  }

  async #read(): Promise<void> {
    for await (const line of lines(this.#process.stdout)) {
      this.#unread.push(JSON.parse(line));
      this.#announce();
    }
    await this.#process.status;
    this.#ended = true;
    this.#announce();
  }

  #announce(): void {
    this.#arrival.resolve();
    this.#arrival = Promise.withResolvers();
  }

  async #next<Type extends Report["type"]>(type: Type): Promise<Reported<Type>> {
    for (;;) {
      const index = this.#unread.findIndex((report) => report.type === type || report.type === "failed");
      const [report] = index < 0 ? [] : this.#unread.splice(index, 1);
      if (report?.type === type) return report as Reported<Type>;
      if (report !== undefined) throw new Error(`got ${JSON.stringify(report)}`);
      if (this.#ended) throw new Error("the process has ended");
      await this.#arrival.promise;
    }
  }
}

/** The stores that several processes can share. */
export type StoreKind = "redis" | "sqlite";

/** A fresh store, the processes that share it, and a fresh directory for them. */
export class Site implements AsyncDisposable {
  readonly kind: StoreKind;
  readonly directory = Deno.makeTempDirSync({ prefix: "holdfast_faults_" });
  readonly #server: RedisServer | undefined;
  readonly #workers: WorkerProcess[] = [];

  private constructor(kind: StoreKind, server: RedisServer | undefined) {
    this.kind = kind;
    this.#server = server;
  }

  /** Makes the store; starts its server, if it needs one. */
  static async open(kind: StoreKind): Promise<Site> {
    return new Site(kind, kind === "redis" ? await RedisServer.start() : undefined);
  }

  /** The port of the server, or the path of the file. */
  get address(): string {
    return this.#server === undefined ? `${this.directory}/locks.db` : `${this.#server.port}`;
  }

  /** The server of the store. */
  get server(): RedisServer {
    if (this.#server === undefined) throw new Error(`${this.kind} has no server`);
    return this.#server;
  }

  /** Starts a process, and waits until it listens to commands. */
  async worker(): Promise<WorkerProcess> {
    const worker = new WorkerProcess(this.kind, this.address);
    this.#workers.push(worker);
    await worker.next("ready");
    return worker;
  }

  /** Starts several processes. */
  async workers(count: number): Promise<WorkerProcess[]> {
    return await Promise.all(Array.from({ length: count }, () => this.worker()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker[Symbol.asyncDispose]()));
    await this.#server?.[Symbol.asyncDispose]();
    await Deno.remove(this.directory, { recursive: true });
  }
}
