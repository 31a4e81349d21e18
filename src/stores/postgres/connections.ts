import { NO_CONNECTION_FREE, SILENT_MS } from "../../internal/sql/pool.ts";
import { type PostgresKind, type QueryClient, runPostgres } from "../../internal/sql/postgres_client.ts";
import type { PgPool, PostgresClient, PostgresJsClient } from "./options.ts";

/** The numbers that a `Pool` of pg reports, beside {@linkcode PgPool}. */
interface PoolDetails extends PgPool {
  readonly idleCount?: number;
  readonly waitingCount?: number;
  readonly options?: { readonly max?: number; readonly "query_timeout"?: number };
}

/** A query of postgres.js, whose state is `null` until it is given to a connection. */
interface PostgresJsQuery {
  readonly state?: unknown;
}

/** Runs the statements of a store on the connections of a client. */
export class PostgresConnections {
  readonly #client: PostgresClient;
  readonly #kind: PostgresKind;
  /** The queries of postgres.js that have not ended. */
  readonly #queries = new Set<PostgresJsQuery>();

  constructor(client: PostgresClient, kind: PostgresKind) {
    this.#client = client;
    this.#kind = kind;
  }

  /** Runs a statement. pg closes a connection that has not answered in time; no other client can. */
  async run(statement: string): Promise<readonly unknown[][]> {
    if (this.#kind === "pg pool") return await runPostgres(withTimeout(this.#client as PoolDetails), statement);
    if (this.#kind !== "postgres.js") return await runPostgres(this.#client, statement);
    let query: PostgresJsQuery = {};
    const unsafe = (text: string) => {
      const sent = (this.#client as PostgresJsClient).unsafe(text);
      this.#queries.add(query = sent as PostgresJsQuery);
      return sent;
    };
    try {
      return await runPostgres({ unsafe }, statement);
    } finally {
      this.#queries.delete(query);
    }
  }

  /** The reason for late statements, if they wait for a connection. */
  get lateBecause(): string | undefined {
    const { totalCount, idleCount, waitingCount = 0, options } = this.#client as Partial<PoolDetails>;
    const waits = this.#kind === "pg pool"
      ? waitingCount > 0 && idleCount === 0 && totalCount! >= (options?.max ?? Infinity)
      : [...this.#queries].some(({ state }) => state === null);
    return waits ? NO_CONNECTION_FREE : undefined;
  }
}

/** Returns a client whose queries have a time-out; a shorter time-out of the pool counts. */
function withTimeout(pool: PoolDetails): QueryClient {
  const limit = Math.min(pool.options?.["query_timeout"] || SILENT_MS, SILENT_MS);
  return { query: (text) => pool.query({ text, "query_timeout": limit } as unknown as string) };
}
