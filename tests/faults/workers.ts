import type { CohortOptions } from "../../src/cohort/mod.ts";
import { RedisServer } from "../support/redis_server.ts";
import { DenoProcess } from "../support/deno_process.ts";
import { inTime } from "../support/in_time.ts";
import type { Command, Report, WorkerOptions } from "./worker.ts";

/**
 * How long a process may be silent when a report is waited for, in milliseconds: it starts in 0.3 s, and in several
 * under load. What takes longer reports its progress.
 */
const REPORT_LIMIT = 60_000;

type Reported<Type extends Report["type"]> = Extract<Report, { type: Type }>;

/** A process that acquires locks on command. */
export class WorkerProcess implements AsyncDisposable {
  readonly #process: DenoProcess;
  readonly #reading: Promise<void>;
  readonly #unread: Report[] = [];
  #arrival = Promise.withResolvers<void>();
  #ended = false;

  /** Starts a process that uses a store of this kind at this address. */
  constructor(kind: StoreKind, address: string, options: WorkerOptions) {
    this.#process = new DenoProcess(import.meta.resolve("./worker.ts"), kind, address, JSON.stringify(options));
    this.#reading = this.#read();
  }

  /** Sends it a command. */
  async send(command: Command): Promise<void> {
    await this.#process.write(`${JSON.stringify(command)}\n`);
  }

  /** Sends it a command, and returns the next report of this type. */
  async ask<Type extends Report["type"]>(command: Command, type: Type): Promise<Reported<Type>> {
    await this.send(command);
    return await this.next(type);
  }

  /** Returns the next report of this type. Rejects when a command fails, unless that is what is asked for. */
  async next<Type extends Report["type"]>(type: Type): Promise<Reported<Type>> {
    try {
      return await this.#next(type);
    } catch (error) {
      throw new Error(`no report "${type}" of a worker`, { cause: error });
    }
  }

  /** Sends it a signal. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#process.signal(signal);
  }

  /** Kills it without a warning, and waits until it is gone. */
  async kill(): Promise<void> {
    await this.#process.kill();
    await this.#reading;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  async #read(): Promise<void> {
    for await (const line of this.#process.lines) {
      const report: Report = JSON.parse(line);
      // That it has come is all that there is to it.
      if (report.type !== "progress") this.#unread.push(report);
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
      await inTime(this.#arrival.promise, REPORT_LIMIT, "a worker reports");
    }
  }
}

/** The stores that several processes can share. */
export type StoreKind = "redis" | "sqlite";

/** A fresh store, the processes that share it, and a fresh directory for them. */
export class Fixture implements AsyncDisposable {
  readonly kind: StoreKind;
  readonly directory = Deno.makeTempDirSync({ prefix: "holdfast_faults_" });
  readonly #server: RedisServer | undefined;
  readonly #options: WorkerOptions;
  readonly #workers: WorkerProcess[] = [];

  private constructor(kind: StoreKind, server: RedisServer | undefined, options: WorkerOptions) {
    this.kind = kind;
    this.#server = server;
    this.#options = options;
  }

  /** Makes the store, for processes with these options; starts its server, if it needs one. */
  static async open(kind: StoreKind, options: WorkerOptions = {}): Promise<Fixture> {
    return new Fixture(kind, kind === "redis" ? await RedisServer.start() : undefined, options);
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
  async worker(cohort?: CohortOptions): Promise<WorkerProcess> {
    const worker = new WorkerProcess(this.kind, this.address, { ...this.#options, cohort });
    this.#workers.push(worker);
    await worker.next("ready");
    return worker;
  }

  /** Starts several processes. */
  async workers(count: number, cohort?: CohortOptions): Promise<WorkerProcess[]> {
    return await Promise.all(Array.from({ length: count }, () => this.worker(cohort)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker[Symbol.asyncDispose]()));
    await this.#server?.[Symbol.asyncDispose]();
    await Deno.remove(this.directory, { recursive: true });
  }
}
