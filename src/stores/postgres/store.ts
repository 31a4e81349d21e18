import { StoreError } from "../../contract/errors.ts";
import { Closable } from "../../internal/closable.ts";
import { checkHexCursor, hexOf, randomHex, textOfHex } from "../../internal/sql/hex.ts";
import { ShortLivedMap } from "../../time/short_lived.ts";
import { type Clock, SystemClock } from "../../time/clock.ts";
import type { ListingStore } from "../../contract/store.ts";
import type {
  Backend,
  FoundDocument,
  KeyVersion,
  ListedDocuments,
  WatchOptions,
  WriteOptions,
  WriteResult,
} from "../../engine/mod.ts";
import { casOf } from "../../engine/store.ts";
import { PostgresConnections } from "./connections.ts";
import { failureOf, foreignAnswer, isAboutTable, isClosed, isConflict } from "./failures.ts";
import { listenOf } from "./listen.ts";
import { Notifications } from "./notifications.ts";
import {
  checkPostgresOptions,
  type PgliteClient,
  type PgPool,
  type PostgresClient,
  type PostgresOptions,
  type PostgresSettings,
} from "./options.ts";
import { prepareTable } from "./schema.ts";
import { asciiJson, DocumentStatements, FEW_PAGES, pageOf, type Values } from "./statements.ts";

/** A store in a PostgreSQL database. `query()` lists all locks in the table, in the order of the names' bytes. */
export type PostgresStore = ListingStore;

/**
 * Returns a store in a table of a PostgreSQL database. The table is made at the first use. If the user may not make it,
 * or there is another table of that name, calls reject with a `StoreError` that is `permanent` and names the statement
 * to run.
 *
 * **What a lock rests on.** The primary server decides, by its clock. Where replication is asynchronous, the promotion
 * of a standby loses writes that it had not received: two callers may then believe that they hold a lock, and the fence
 * orders them if the clocks of the servers agree.
 *
 * **The client** must commit each statement by itself. A `Client` of pg, a reserved connection or a transaction is
 * refused: a lock that a rollback undoes protects nothing.
 *
 * **Waiting.** Waiters poll, every 50 to 500 ms, or are woken over a connection of their own with the option `listen`.
 *
 * @example
 * ```ts ignore
 * import { acquire } from "@holdfast/lock";
 * import { postgres } from "@holdfast/lock/postgres";
 * import pg from "pg";
 *
 * const url = "postgres://app@db.example.com/shop";
 * const pool = new pg.Pool({ connectionString: url });
 * const store = postgres(pool, { listen: () => new pg.Client(url) });
 * await using lock = await acquire(store, "nightly-report", { wait: 1_000 });
 * ```
 *
 * @param client `sql` of postgres.js, a `Pool` of pg, a PGlite, or anything whose `query(text)` commits each statement
 * @param options the table, how waiters are woken, an observer, and how far the clocks of several servers may be apart
 * @throws {TypeError} when the client is a connection, a transaction or of an unknown kind, or an option is unknown or
 * of the wrong kind
 * @throws {RangeError} when the names are empty or too long, or `maxClockSkew` is negative
 */
export function postgres(client: PostgresClient, options: PostgresOptions = {}): PostgresStore {
  const settings = checkPostgresOptions(client, options);
  const backend = new PostgresBackend(client, settings, new SystemClock());
  return casOf(backend, settings.engine, client, JSON.stringify([settings.schema, settings.table]));
}

/** How long the connection that listens is kept when nobody waits, in milliseconds. */
const LINGER_MS = 1_000;

/** How many further refused writes of a name return the present document, after a refused write. */
const CONTENDED_WRITES = 16;

/** How often a read is repeated that another transaction preceded, as happens where the default is serializable. */
const READS = 5;

interface RunOptions {
  /** How often at most. */
  readonly times: number;
  /** Whether its text is always the same but for its values. */
  readonly often?: boolean;
  /** Its mark, which is also the version that it writes. */
  readonly mark?: string;
}

export class PostgresBackend extends Closable implements Backend<string | null> {
  readonly severalClocks: boolean;
  readonly watch?: (key: string, version: string | null, signal: AbortSignal, options?: WatchOptions) => Promise<void>;
  readonly #client: PostgresClient;
  readonly #connections: PostgresConnections;
  readonly #settings: PostgresSettings;
  readonly #statements: DocumentStatements;
  readonly #notifications: Notifications | undefined;
  readonly #clock: Clock;
  /** For each name with a recently refused write: how many further writes return the present document. */
  readonly #contended = new ShortLivedMap<string, number>((_, old) => old);
  #prepared: Promise<void> | undefined;
  #isPrepared = false;

  constructor(client: PostgresClient, settings: PostgresSettings, clock: Clock, lingerMs = LINGER_MS) {
    super();
    this.#client = client;
    this.#connections = new PostgresConnections(client, settings.kind);
    this.#settings = settings;
    this.#clock = clock;
    this.severalClocks = settings.engine.maxClockSkew !== undefined;
    const channel = `holdfast:${settings.schema}.${settings.table}`;
    this.#statements = new DocumentStatements(settings, channel);
    const listen = listenOf(client, settings, channel);
    if (listen === undefined) return;
    const notify = (payload: string) => this.#send(() => this.#connections.run(this.#statements.notify(payload)));
    const notifications = this.#notifications = new Notifications(listen, notify, clock, lingerMs);
    this.watch = (key, version, signal, options) => {
      return notifications.watch(hexOf(key), version, signal, options?.store);
    };
  }

  override get closed(): boolean {
    const { ending, closed } = this.#client as Partial<PgPool & PgliteClient>;
    return super.closed || ending === true || closed === true;
  }

  get lateBecause(): string | undefined {
    return this.#connections.lateBecause;
  }

  async read(key: string): Promise<FoundDocument<string | null>> {
    const delay = await this.#prepare();
    const at = this.#notifications?.asks(hexOf(key)) ?? 0;
    const { prepares } = this.#connections;
    const [row] = await this.#run((values, mark) => this.#statements.read(values, key, mark), {
      times: READS,
      often: true,
    });
    if (row === undefined) throw foreignAnswer();
    const [time, version, value, standby, alone] = row;
    if (standby === "true") {
      throw new StoreError("The server is a standby, which takes no writes: pass a client of the primary");
    }
    // A pooler may have begun the transaction with a message of its own. The simple protocol tells in any case.
    if (alone !== "true" && prepares) {
      this.#connections.unprepare();
      return await this.read(key);
    }
    if (alone !== "true") {
      const why = "A connection of the pool is in a transaction, whose rollback would undo the lock";
      throw new StoreError(`${why}: end each one before its connection is released`);
    }
    return this.#found(key, at, Number(time) - delay, version, value);
  }

  async write(
    key: string,
    value: string,
    expected: string | null,
    { notBefore, notify = false, heir }: WriteOptions,
  ): Promise<WriteResult<string | null>> {
    const delay = await this.#prepare();
    const at = this.#notifications?.asks(hexOf(key)) ?? 0;
    const version = randomHex();
    const document = { name: key, value: asciiJson(value), version, notify, heir };
    const contended = this.#contended.get(key) ?? 0;
    const statement = (values: Values) => {
      const write = expected === null
        ? this.#statements.insert(values, document)
        : this.#statements.update(values, document, expected, notBefore);
      // Only a statement that is parsed and planned anew takes longer with it, by half.
      const isWhole = contended > 0 || this.#connections.prepares;
      return isWhole ? this.#statements.orPresent(values, write, document) : write;
    };
    const [row = []] = await this.#run(statement, { times: 1, often: true, mark: version });
    const [told, foundVersion, foundValue] = row;
    const time = Number(told) - delay;
    const page = pageOf(foundValue);
    if (page !== undefined) {
      if (contended > 0) this.#contended.set(key, contended - 1);
      if (page >= FEW_PAGES) this.#connections.grow();
      this.#notifications?.got(hexOf(key), version, at);
      return { written: true, version, time };
    }
    this.#contended.set(key, CONTENDED_WRITES);
    // The document was not requested, is absent, or the statement was rolled back because another transaction came
    // first. A statement does not see what was committed while it ran, so it may also find the expected version.
    if (!foundVersion || versionOf(foundVersion) === expected) return { written: false };
    return { written: false, found: this.#found(key, at, time, foundVersion, foundValue) };
  }

  async remove(documents: readonly KeyVersion<string | null>[]): Promise<number> {
    await this.#prepare();
    const statement = (values: Values, mark: string) => this.#statements.remove(values, documents, mark);
    return (await this.#run(statement, { times: 1 })).length;
  }

  async list(limit: number, cursor = ""): Promise<ListedDocuments<string | null>> {
    const after = checkHexCursor(cursor);
    await this.#prepare();
    const rows = await this.#run((_, mark) => this.#statements.list(limit, after, mark), { times: READS });
    const documents = rows.map(([time, version, value, name]) => ({
      key: textOfHex(String(name)),
      version: versionOf(version),
      value: String(value),
      time: Number(time),
    }));
    return { documents, cursor: rows.length < limit ? undefined : String(rows.at(-1)![3]) };
  }

  #found(key: string, at: number, time: number, version: unknown, value: unknown): FoundDocument<string | null> {
    const found = versionOf(version);
    this.#notifications?.got(hexOf(key), found, at);
    return { value: found === null ? undefined : String(value), version: found, time };
  }

  /** Runs a statement with a mark, up to `times` times. Returns no row if another transaction came first. */
  async #run(
    statement: (values: Values, mark: string) => string,
    { times, often = false, mark = randomHex() }: RunOptions,
  ): Promise<readonly unknown[][]> {
    const marked = (values: Values) => statement(values, mark);
    const run = () =>
      often ? this.#connections.runPrepared(marked) : this.#connections.run(marked(this.#connections.literals));
    for (let tries = 1;; tries++) {
      try {
        return checkMark(await this.#send(run), mark);
      } catch (error) {
        const isFirst = isConflict(error);
        if (isFirst && times === 1) return [];
        // The next call looks at the table again, which says more, and makes one that was dropped.
        if (isAboutTable(error)) [this.#prepared, this.#isPrepared] = [undefined, false];
        if (!isFirst || tries === times) throw this.#failure(error);
      }
    }
  }

  /**
   * Sends a statement. Rejects one turn of the event loop later: postgres.js 3.4 still gives statements to a reset
   * connection until it has closed, and the next statement there then waits for their answers for ever.
   */
  async #send(run: () => Promise<readonly unknown[][]>): Promise<readonly unknown[][]> {
    try {
      return await run();
    } catch (error) {
      await this.#clock.sleep(0);
      throw error;
    }
  }

  /**
   * Prepares the table, the first time. Resolves to how long it took, in milliseconds: the engine dates the time of the
   * server from before the call.
   */
  async #prepare(): Promise<number> {
    if (this.#isPrepared) return 0;
    const began = this.#clock.now();
    this.#prepared ??= prepareTable(this.#settings, (text) => this.#send(() => this.#connections.run(text)));
    try {
      await this.#prepared;
      this.#isPrepared = true;
    } catch (error) {
      this.#prepared = undefined;
      throw this.#failure(error);
    }
    const { monotonic, wall } = this.#clock.now();
    return Math.max(0, Math.min(monotonic - began.monotonic, wall - began.wall));
  }

  #failure(error: unknown): unknown {
    if (!this.closed && !isClosed(error)) return failureOf(error);
    this.foundClosed();
    return new StoreError("The client of PostgreSQL is closed", { permanent: true, cause: error });
  }
}

/**
 * Returns rows if their statement has this mark. After a statement was cancelled, or had a value that could not be
 * sent, postgres.js 3.4 gives the waiting statements of the connection the answers to others.
 */
function checkMark(rows: readonly unknown[][], mark: string): readonly unknown[][] {
  if (rows.every((row) => row.at(-1) === mark)) return rows;
  throw foreignAnswer();
}

/** Returns the version of a row in its written form; `null` without a row. */
function versionOf(uuid: unknown): string | null {
  return typeof uuid === "string" ? uuid.replaceAll("-", "") : null;
}
