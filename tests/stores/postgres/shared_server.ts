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
  if ("missing" in found) {
    return {
      ignore: true,
      server: () => {
        throw new Error(found.missing);
      },
    };
  }
  const server = await PostgresServer.start(options);
  Deno.test.afterAll(() => server[Symbol.asyncDispose]());
  return { ignore: false, server: () => server };
}
