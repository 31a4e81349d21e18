import connect, { type Sql } from "postgres";
import type { Observer, Store } from "@holdfast/lock";
import { postgres, type PostgresJsClient } from "@holdfast/lock/postgres";
import { PostgresServer } from "../tests/support/postgres_server.ts";
import type { Bench } from "./row.ts";

/** A PostgreSQL server that a row has for itself. */
export class BenchPostgres {
  readonly url: string;
  readonly pid: number;
  readonly #stack: AsyncDisposableStack;

  private constructor({ url, pid }: PostgresServer, stack: AsyncDisposableStack) {
    this.url = url;
    this.pid = pid!;
    this.#stack = stack;
  }

  /** Starts one, which ends with the row. */
  static async start({ stack }: Bench, settings: Readonly<Record<string, string>> = {}): Promise<BenchPostgres> {
    const server = await PostgresServer.start({ settings });
    stack.defer(async () => {
      // Without a look at its processes, which needs rights to all of the system.
      await server.stop();
      await server[Symbol.asyncDispose]();
    });
    return new BenchPostgres(server, stack);
  }

  /** Connects, with at most so many connections. Without `prepare` no statement is prepared. */
  connect(max = 10, prepare = true): Sql {
    const client = connect(this.url, { max, prepare, onnotice: () => {} });
    this.#stack.defer(() => client.end());
    return client;
  }

  /** Makes a store on connections of its own. */
  open(options: { readonly listen?: boolean; readonly observer?: Observer } = {}): Store {
    return storeOf(this.connect(), options);
  }
}

/** Makes a store on a client. */
export function storeOf(client: Sql, options?: Parameters<typeof postgres>[1]): Store {
  return postgres(client as unknown as PostgresJsClient, options);
}
