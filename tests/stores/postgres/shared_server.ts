import { findPgbouncer, findPostgres } from "../../support/postgres.ts";
import { PostgresServer, type PostgresServerOptions } from "../../support/postgres_server.ts";

/** The server of a test file. */
export interface SharedServer {
  /** Returns it. */
  readonly server: () => PostgresServer;
  /** Whether there is none, so that the tests are skipped. */
  readonly ignore: boolean;
  /** Defines a test that needs the server. */
  readonly test: DefineTest;
  /** Defines a test that needs pgbouncer as well. */
  readonly testWithPooler: DefineTest;
}

type DefineTest = (name: string, fn: () => Promise<void>) => void;

/** Starts a server for all tests of a file: that takes longer than most of them. It ends after the last one. */
export async function sharedServer(options: PostgresServerOptions = {}): Promise<SharedServer> {
  const found = options.program === undefined ? findPostgres() : { program: options.program };
  const missing = "missing" in found ? found.missing : undefined;
  const server = missing === undefined ? await PostgresServer.start(options) : undefined;
  if (server !== undefined) Deno.test.afterAll(() => server[Symbol.asyncDispose]());
  const define = (ignore: boolean): DefineTest => (name, fn) => Deno.test({ name, ignore, fn });
  const ignore = server === undefined;
  return {
    // With CI=1 the run ends before, because nothing may be missing.
    ignore,
    test: define(ignore),
    testWithPooler: define(ignore || "missing" in findPgbouncer()),
    server: () => {
      if (server === undefined) throw new Error(missing);
      return server;
    },
  };
}
