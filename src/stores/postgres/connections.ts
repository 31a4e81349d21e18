import { hexOfBytes } from "../../internal/sql/hex.ts";
import { NO_CONNECTION_FREE, SILENT_MS } from "../../internal/sql/pool.ts";
import { type PostgresKind, runPostgres } from "../../internal/sql/postgres_client.ts";
import { isUnprepared } from "./failures.ts";
import type { PgPool, PostgresClient, PostgresJsClient } from "./options.ts";
import { Literals, Parameters, type Values } from "./statements.ts";

/** The numbers that a `Pool` of pg reports, beside {@linkcode PgPool}. */
interface PoolDetails extends PgPool {
  readonly idleCount?: number;
  readonly waitingCount?: number;
  readonly options?: {
    readonly max?: number;
    readonly "query_timeout"?: number;
    readonly binary?: unknown;
  };
}

/** `sql` of postgres.js, with its options. */
interface PostgresJsDetails extends PostgresJsClient {
  readonly options?: { readonly prepare?: unknown };
  unsafe(...query: readonly [text: string, values?: readonly unknown[], options?: { prepare: true }]): PostgresJsQuery;
  typed(value: string, type: number): unknown;
}

interface PostgresJsQuery extends ReturnType<PostgresJsClient["unsafe"]> {
  /** `null` until it is given to a connection. */
  readonly state?: unknown;
  /** The error after which postgres.js has prepared the statement again. */
  readonly retried?: unknown;
}

/** The number of the type `text`. */
const TEXT = 25;

/** A comment that gives a statement another text: the server then plans it anew. */
const GROWN = " /* for a table that has grown */";

/** Runs the statements of a store on the connections of a client. */
export class PostgresConnections {
  readonly #client: PostgresClient;
  readonly #kind: PostgresKind;
  /** The values of statements that are not prepared. */
  readonly literals: Literals;
  /** The queries of postgres.js that have not ended. */
  readonly #queries = new Set<PostgresJsQuery>();
  /** The names of prepared statements, by their texts. */
  readonly #names = new Map<string, Promise<string>>();
  #prepares: boolean;
  #hasGrown = false;

  constructor(client: PostgresClient, kind: PostgresKind) {
    this.#client = client;
    this.#kind = kind;
    const isPg = kind === "pg pool";
    // With `binary` pg never uses the simple protocol.
    this.literals = new Literals(kind === "postgres.js" || isPg && !(client as PoolDetails).options?.binary);
    this.#prepares = isPg || kind === "postgres.js" && (client as PostgresJsDetails).options?.prepare === true;
  }

  /** Whether statements are prepared: as long as the client wants it, and every server has known them. */
  get prepares(): boolean {
    return this.#prepares;
  }

  /** Records that statements cannot be prepared. They have their values inside from now on. */
  unprepare(): void {
    this.#prepares = false;
  }

  /** Changes the texts of prepared statements, once: their plans were made for a table of few pages. */
  grow(): void {
    this.#hasGrown = true;
  }

  /**
   * Runs a statement that is used often: prepared, if possible. A server that does not know the name of the statement,
   * or knows it already, has not executed it.
   */
  async runPrepared(statement: (values: Values) => string): Promise<readonly unknown[][]> {
    if (this.#prepares) {
      try {
        const values = new Parameters();
        const text = statement(values);
        return await this.run(this.#hasGrown ? text + GROWN : text, values.all);
      } catch (error) {
        if (!isUnprepared(error)) throw error;
        this.unprepare();
      }
    }
    return await this.run(statement(this.literals));
  }

  /** Runs a statement with its values inside, or prepared with values beside it. */
  async run(text: string, values?: readonly string[]): Promise<readonly unknown[][]> {
    switch (this.#kind) {
      case "pg pool":
        return await this.#sendToPg(text, values);
      case "postgres.js":
        return await this.#sendToPostgresJs(text, values);
      default:
        return await runPostgres(this.#client, text);
    }
  }

  /** Runs a statement on a `Pool` of pg, which closes a connection that has not answered in time; others cannot. */
  async #sendToPg(text: string, values?: readonly string[]): Promise<readonly unknown[][]> {
    const pool = this.#client as PoolDetails;
    const limit = Math.min(pool.options?.["query_timeout"] || SILENT_MS, SILENT_MS);
    const prepared = values && { name: await this.#nameOf(text), values };
    const query = (text: string) => pool.query({ text, ...prepared, "query_timeout": limit } as unknown as string);
    return await runPostgres({ query }, text);
  }

  async #sendToPostgresJs(text: string, values?: readonly string[]): Promise<readonly unknown[][]> {
    const sql = this.#client as PostgresJsDetails;
    // Without a type postgres.js 3.4 writes values as the server describes them, or those of another statement.
    const typed = values?.map((value) => sql.typed(value, TEXT));
    const query = typed === undefined ? sql.unsafe(text) : sql.unsafe(text, typed, { prepare: true });
    this.#queries.add(query);
    try {
      return await runPostgres({ unsafe: () => query }, text);
    } finally {
      this.#queries.delete(query);
      // It would prepare the statement anew each time, under another name.
      if (isUnprepared(query.retried)) this.unprepare();
    }
  }

  /**
   * Returns a name for a statement, which no other text has, in whatever program: behind a pooler other programs may
   * have prepared statements on the same connection.
   */
  #nameOf(text: string): Promise<string> {
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    const hashed = crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
    const name = hashed.then((hash) => `holdfast_${hexOfBytes(new Uint8Array(hash, 0, 16))}`);
    this.#names.set(text, name);
    return name;
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
