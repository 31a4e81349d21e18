import type { ServerProcess } from "./server_process.ts";

/** A server that a test has started in a process. */
export abstract class TestServer implements AsyncDisposable {
  /** The process, while there is one. */
  protected process: ServerProcess | undefined;

  /** Freezes the process: it accepts and answers nothing, and keeps its connections. */
  freeze(): void {
    this.process?.signal("SIGSTOP");
  }

  /** Lets it go on. */
  thaw(): void {
    this.process?.signal("SIGCONT");
  }

  /** Kills the process, or ends it with another signal, and waits until it is gone. */
  async kill(signal?: Deno.Signal): Promise<void> {
    const process = this.process;
    this.process = undefined;
    await process?.end(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
