import { peer } from "./catalogue.ts";
import { denoArguments, UNSAFE_PROTO } from "./deno_arguments.ts";
import type { Order } from "./orders/order.ts";

/** What a worker runs. */
export interface Setup {
  readonly peer: string;
  readonly tuned: boolean;
  readonly ports: readonly number[];
  /** Whether a rejection that nobody handles is to be overlooked, instead of ending the process. */
  readonly tolerant: boolean;
}

/** What a worker says: the value or the error of the order with that number. */
export interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** An order took longer than it may. */
export class CutOff extends Error {}

/** How long a worker may take to start on a busy machine, in milliseconds. */
const START = 60_000;

/** So much of what a process prints at last is kept, in characters. */
const TAIL = 2_000;

/** A process that runs one library; killed when it is disposed. */
export class Worker implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #over: Promise<void>;
  #orders = 0;
  #errors = "";
  #code: number | undefined;
  readonly #input: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;

  private constructor(setup: Setup) {
    // The heap is only measured after a collection.
    const flags = ["--v8-flags=--expose-gc", ...peer(setup.peer).broker ? [UNSAFE_PROTO] : []];
    this.#process = new Deno.Command(Deno.execPath(), {
      args: denoArguments("worker_process.ts", flags, [JSON.stringify(setup)]),
      env: { NO_COLOR: "1" },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#input = this.#process.stdin.getWriter();
    this.#input.closed.catch(() => {});
    this.#over = Promise.all([this.#read(), this.#readErrors()]).then(async () => {
      this.#code = (await this.#process.status).code;
      for (const { reject } of this.#pending.values()) reject(new Error(`the process ended: ${this.lastError()}`));
      this.#pending.clear();
    });
  }

  /** Starts a process and waits until the library is connected. */
  static async start(setup: Setup): Promise<Worker> {
    const worker = new Worker(setup);
    try {
      await worker.#expect(0, START);
      return worker;
    } catch (error) {
      await worker[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The exit status, once the process has ended. */
  get code(): number | undefined {
    return this.#code;
  }

  /** The line in which the process said why it ends. */
  lastError(): string {
    return /^error: (.*)$/m.exec(this.#errors)?.[1] ?? this.#errors.trim().split("\n").at(-1) ?? "";
  }

  /** Gives an order; rejects with {@linkcode CutOff} when it takes longer than `limit` milliseconds. */
  async ask<T>(order: Order, limit: number): Promise<T> {
    const id = ++this.#orders;
    const answer = this.#expect(id, limit);
    const line = new TextEncoder().encode(`${JSON.stringify({ id, order })}\n`);
    this.#input.write(line).catch(() => {}); // It has ended, which the answer tells.
    return await answer as T;
  }

  async #expect(id: number, limit: number): Promise<unknown> {
    const expected = Promise.withResolvers<unknown>();
    this.#pending.set(id, expected);
    if (this.#code !== undefined) expected.reject(new Error(`the process ended: ${this.lastError()}`));
    const timer = setTimeout(() => expected.reject(new CutOff(`cut off after ${limit / 1_000} s`)), limit);
    try {
      return await expected.promise;
    } finally {
      clearTimeout(timer);
      this.#pending.delete(id);
    }
  }

  async #read(): Promise<void> {
    let rest = "";
    for await (const text of this.#process.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      for (const line of lines) if (line.startsWith("=> ")) this.#settle(JSON.parse(line.slice(3)));
    }
  }

  #settle({ id, value, error }: Answer): void {
    const expected = this.#pending.get(id);
    if (error === undefined) expected?.resolve(value);
    else expected?.reject(new Error(error));
  }

  async #readErrors(): Promise<void> {
    for await (const text of this.#process.stderr.pipeThrough(new TextDecoderStream())) {
      this.#errors = (this.#errors + text).slice(-TAIL);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#process.kill("SIGKILL");
    } catch {
      // It has ended already.
    }
    await this.#over;
  }
}
