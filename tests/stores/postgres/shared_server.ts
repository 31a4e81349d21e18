import { findPostgres } from "../../support/postgres.ts";
import { PostgresServer, type PostgresServerOptions } from "../../support/postgres_server.ts";

/** The server of a test file. */
export interface SharedServer {
  /** Returns it. */
  readonly server: () => PostgresServer;
  /** Whether there is none, so that the tests are skipped. */
  readonly ignore: boolean;
}

/** Starts a server for all tests of a file: that takes longer than most of them. It ends after the last one. */
export async function sharedServer(options: PostgresServerOptions = {}): Promise<SharedServer> {
  const found = options.program === undefined ? findPostgres() : { program: options.program };
  const missing = "missing" in found ? found.missing : undefined;
  const server = missing === undefined ? await PostgresServer.start(options) : undefined;
  if (server !== undefined) Deno.test.afterAll(() => server[Symbol.asyncDispose]());
  return {
    // With CI=1 the run ends before, because nothing may be missing.
    ignore: server === undefined,
    server: () => {
      if (server === undefined) throw new Error(missing);
      return server;
    },
  };
}
