/** How often a server is started on a port that was free, and may be taken a moment later. */
const STARTS = 3;

/** What a process is started with. */
export type ServerCommand = Pick<Deno.CommandOptions, "args" | "env" | "uid" | "gid" | "cwd">;

/** The process of a server that a test has started. */
export class ServerProcess {
  readonly #process: Deno.ChildProcess;
  #ended = false;

  /** Starts it, silent and without input. */
  constructor(program: string, command: ServerCommand) {
    this.#process = new Deno.Command(program, { ...command, stdin: "null", stdout: "null", stderr: "null" }).spawn();
    void this.#process.status.then(() => this.#ended = true);
  }

  get pid(): number {
    return this.#process.pid;
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
