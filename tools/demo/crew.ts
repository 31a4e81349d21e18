import { permissionsOf, protocolOf } from "../../examples/store_url.ts";
import { lines } from "./lines.ts";
import type { Message, Order } from "./worker.ts";

/** A worker that sends nothing for this long hangs: its server is frozen, or the machine is far too busy. */
const SILENCE_MS = 60_000;

/** What all workers of one run have in common. */
export type Run = Pick<Order, "directory" | "store" | "lock" | "sections">;

/** The worker processes of one run. Disposing of it ends all of them. */
export class Crew implements AsyncDisposable {
  /** What its workers have in common. */
  readonly run: Run;
  readonly #workers = new Set<Worker>();
  #stopped = false;

  /** Creates a crew without workers. */
  constructor(run: Run) {
    this.run = run;
  }

  /** Starts a worker, and waits until it can begin at once. */
  async start(task: Order["task"], author: string, lease: number): Promise<Worker> {
    if (this.#stopped) throw new Error("the demo was stopped");
    const worker = new Worker({ ...this.run, task, author, lease });
    this.#workers.add(worker);
    await worker.receive("ready");
    return worker;
  }

  /** Kills all workers, and starts no more. */
  stop(): void {
    this.#stopped = true;
    for (const worker of this.#workers) worker.kill("SIGKILL");
  }

  /** Kills all workers, and waits until they are gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    await Promise.all([...this.#workers].map((worker) => worker.gone));
  }
}

/** One worker process. */
export class Worker {
  /** Its name. */
  readonly author: string;
  readonly #process: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #output: AsyncGenerator<string, void, void>;

  /** Starts the process. */
  constructor(order: Order) {
    this.author = order.author;
    this.#process = new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "--quiet", "--no-prompt", ...permissions(order)],
        ...[programFor(order), JSON.stringify(order)],
      ],
      stdin: "piped",
      stdout: "piped",
      // Ctrl-C in a terminal is for the demo alone: a worker that it ended would look like one that failed.
      detached: true,
    }).spawn();
    this.#input = this.#process.stdin.getWriter();
    this.#output = lines(this.#process.stdout);
  }

  /** Resolves when the process is gone. */
  get gone(): Promise<unknown> {
    return this.#process.status;
  }

  /** Sends it a command. One that has died does not receive it. */
  send(command: "begin" | "write" | "release"): void {
    this.#input.write(new TextEncoder().encode(`${command}\n`)).catch(() => {});
  }

  /** Resolves to its next message of one of these types, and drops those before. */
  async receive<T extends Message["type"]>(...types: T[]): Promise<Extract<Message, { type: T }>> {
    let silent = false;
    const timer = setTimeout(() => {
      silent = true;
      this.kill("SIGKILL");
    }, SILENCE_MS);
    try {
      for (;;) {
        const { value, done } = await this.#output.next();
        if (silent) throw new Error(`${this.author} said nothing for ${SILENCE_MS} ms`);
        if (done) throw new Error(`${this.author} ended too early`);
        const message: Message = JSON.parse(value);
        if (message.type === "failed") throw new Error(message.reason);
        if (types.some((type) => type === message.type)) return message as Extract<Message, { type: T }>;
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Sends it a signal, unless it is gone. */
  kill(signal: "SIGKILL" | "SIGSTOP" | "SIGCONT"): void {
    try {
      this.#process.kill(signal);
    } catch (error) {
      if (!(error instanceof TypeError || error instanceof Deno.errors.NotFound)) throw error;
    }
  }
}

/**
 * Returns the program of a worker. That for SQLite is one of its own: Deno fetches the clients that a program may load.
 */
function programFor({ store }: Order): string {
  const name = protocolOf(store) === "sqlite:" ? "sqlite_worker.ts" : "server_worker.ts";
  return new URL(name, import.meta.url).href;
}

/** What a worker may do: touch the shared files, and use the store. */
function permissions({ directory, store }: Order): string[] {
  const files = directory.replaceAll(",", ",,"); // A single comma would begin another path.
  return [`--allow-read=${files}`, `--allow-write=${files}`, ...permissionsOf(store)];
}
