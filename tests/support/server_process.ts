import { opening } from "../tools/leaks.ts";

/** How often a server is started on a port that was free, and may be taken a moment later. */
const STARTS = 3;

/** What a process is started with. */
export type ServerCommand = Pick<Deno.CommandOptions, "args" | "env" | "uid" | "gid" | "cwd">;

/** The process of a server that a test has started. */
export class ServerProcess {
  readonly #process: Deno.ChildProcess;
  /** What Deno has open for it. */
  readonly resources: readonly string[];
  #ended = false;

  /** Starts it, silent and without input. */
  constructor(program: string, command: ServerCommand) {
    const silent = { stdin: "null", stdout: "null", stderr: "null" } as const;
    [this.#process, this.resources] = opening(() => new Deno.Command(program, { ...command, ...silent }).spawn());
    void this.#process.status.then(() => this.#ended = true);
  }

  get pid(): number {
    return this.#process.pid;
  }

  /** Lets Deno end before it does. */
  unref(): void {
    this.#process.unref();
  }

  /** Keeps Deno running until it ends. */
  ref(): void {
    this.#process.ref();
  }

  /** Whether it has ended. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Sends a signal, unless it has ended already: Ctrl-C reaches all processes of a terminal. */
  signal(signal: Deno.Signal): void {
    try {
      this.#process.kill(signal);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
  }

  /** Ends it with a signal, and waits until it is gone. */
  async end(signal: Deno.Signal = "SIGKILL"): Promise<void> {
    this.signal(signal);
    await this.#process.status;
  }
}

/** Makes a server and starts it, on another port if that of the first one was taken meanwhile. */
export async function startedServer<Server extends AsyncDisposable>(
  make: () => Server | Promise<Server>,
  start: (server: Server) => Promise<void>,
): Promise<Server> {
  for (let starts = 1;; starts++) {
    const server = await make();
    try {
      await start(server);
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      if (starts === STARTS) throw error;
    }
  }
}
