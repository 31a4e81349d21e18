import { deadline } from "@std/async";
import { RedisServer } from "../redis_server.ts";
import { lines } from "./lines.ts";
import type { Command, Report } from "./worker.ts";

/** How long a report may take, in milliseconds: a process starts in 0.3 s, and in several under load. */
const REPORT_LIMIT = 30_000;

type Reported<Type extends Report["type"]> = Extract<Report, { type: Type }>;

/** A process that takes locks when it is told to. */
export class WorkerProcess implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #unread: Report[] = [];
  readonly #reading: Promise<void>;
  #arrived = Promise.withResolvers<void>();
  #ended = false;

  /** Starts a process that uses a store of this kind at this address. */
  constructor(kind: string, address: string) {
    this.#process = new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--allow-all", new URL("worker.ts", import.meta.url).pathname, kind, address],
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

  /** The next report of this type that was not read yet; a failed command rejects, unless that is what is expected. */
  async next<Type extends Report["type"]>(type: Type): Promise<Reported<Type>> {
    return await deadline(this.#next(type), REPORT_LIMIT);
  }

  /** Tells it to acquire a lock, and waits until it is in the queue. Gives its owner. */
  async enqueue(name: string, command: "acquire" | Command = "acquire"): Promise<string> {
    await this.tell(command === "acquire" ? { do: "acquire", name } : command);
    return (await this.next("waiting")).owner;
  }

  /** Sends it a signal. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#process.kill(signal);
  }

  /** Kills it without a warning, and waits until it is gone. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#process.status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#ended) this.#process.kill("SIGKILL");
    await this.#process.status;
    await this.#reading;
    await this.#input.abort().catch(() => {});
  }

  async #read(): Promise<void> {
    for await (const line of lines(this.#process.stdout)) {
      this.#unread.push(JSON.parse(line));
      this.#announce();
    }
    this.#ended = true;
    this.#announce();
  }

  #announce(): void {
    this.#arrived.resolve();
    this.#arrived = Promise.withResolvers();
  }

  async #next<Type extends Report["type"]>(type: Type): Promise<Reported<Type>> {
    for (;;) {
      const index = this.#unread.findIndex((report) => report.type === type || report.type === "failed");
      const report = this.#unread[index];
      if (report !== undefined) {
        this.#unread.splice(index, 1);
        if (report.type === type) return report as Reported<Type>;
        throw new Error(`expected ${type}: got ${JSON.stringify(report)}`);
      }
      if (this.#ended) throw new Error(`expected ${type}: the worker has ended`);
      await this.#arrived.promise;
    }
  }
}

/** A fresh store that worker processes share, a fresh directory, and the processes. */
export class Site implements AsyncDisposable {
  readonly kind: StoreKind;
  readonly directory = Deno.makeTempDirSync({ prefix: "holdfast_faults_" });
  readonly #server: RedisServer | undefined;
  readonly #workers: WorkerProcess[] = [];

  private constructor(kind: StoreKind, server: RedisServer | undefined) {
    this.kind = kind;
    this.#server = server;
  }

  /** Starts the server, if the store needs one. */
  static async open(kind: StoreKind): Promise<Site> {
    return new Site(kind, kind === "redis" ? await RedisServer.start() : undefined);
  }

  /** The server of the store. */
  get server(): RedisServer {
    if (this.#server === undefined) throw new Error(`${this.kind} has no server`);
    return this.#server;
  }

  /** Starts worker processes, and waits until they are ready. */
  async start<const Count extends number>(count: Count): Promise<WorkerProcess[]> {
    const address = this.#server === undefined ? `${this.directory}/locks.db` : `${this.#server.port}`;
    const workers = Array.from({ length: count }, () => new WorkerProcess(this.kind, address));
    this.#workers.push(...workers);
    for (const worker of workers) await worker.next("ready");
    return workers;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const worker of this.#workers) await worker[Symbol.asyncDispose]();
    await this.#server?.[Symbol.asyncDispose]();
    await Deno.remove(this.directory, { recursive: true });
  }
}

/** The stores that several processes can share. */
export type StoreKind = "redis" | "sqlite";
