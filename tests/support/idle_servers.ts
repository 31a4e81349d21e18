import { isSearching, stays } from "../tools/leaks.ts";
import type { ServerProcess } from "./server_process.ts";

/** A server that can be used again. */
interface Reusable {
  /** Ends its process, without waiting. */
  end(): void;
}

/** The servers that tests have closed, and that others of the same file use again: starting one takes long. */
export class IdleServers<Server extends Reusable> {
  /**
   * Whether this process runs tests, whose sanitizer is not that of Deno. What else starts servers, such as a fault run
   * or a benchmark, wants new ones.
   */
  static get used(): boolean {
    return isSearching() || Deno.mainModule.endsWith("/tests/runtimes/main.ts");
  }

  readonly #servers: { readonly server: Server; readonly process: ServerProcess }[] = [];

  constructor() {
    globalThis.addEventListener("unload", () => {
      for (const { server } of this.#servers) server.end();
    });
  }

  /** Returns one that is used from now on. */
  take(): Server | undefined {
    const used = this.#servers.pop();
    used?.process.ref();
    return used?.server;
  }

  /** Keeps one, with its process, for the next test. */
  give(server: Server, process: ServerProcess): void {
    process.unref();
    stays(process.resources);
    this.#servers.push({ server, process });
  }
}
