/** A transaction of Kysely: the `trx` of `db.transaction().execute()`. */
export interface KyselyTransaction {
  /** Runs a statement, in the form that Kysely compiles it to. */
  executeQuery(query: never): PromiseLike<{ readonly rows: readonly unknown[] }>;
}

/** A transaction of Drizzle: the `tx` of `db.transaction()`. */
export interface DrizzleTransaction {
  /** Runs a statement. */
  execute(statement: string): PromiseLike<unknown>;
  /** Ends the transaction. */
  rollback(): void;
}

/** A transaction of Knex: the `trx` of `knex.transaction()`. */
export interface KnexTransaction {
  /** Runs a statement. */
  raw(statement: string): PromiseLike<unknown>;
}

/** A transaction of Prisma: the `tx` of `prisma.$transaction()`. */
export interface PrismaTransaction {
  /** Runs a statement. */
  $queryRawUnsafe(statement: string): PromiseLike<unknown>;
}

/** A transaction of Sequelize: the `t` of `sequelize.transaction()`. */
export interface SequelizeTransaction {
  /** Calls a function after the commit. */
  afterCommit(run: () => void): void;
}

/** A transaction of MikroORM: the `em` of `em.transactional()`. */
export interface MikroOrmTransaction {
  /** Returns the connection or transaction in which its statements run. */
  getTransactionContext(): unknown;
  /** Runs a statement. */
  execute(statement: string): PromiseLike<unknown>;
}

/** A transaction of an ORM or query builder, on PostgreSQL. A transaction of TypeORM has `query()`. */
export type OrmTransaction =
  | KyselyTransaction
  | DrizzleTransaction
  | KnexTransaction
  | PrismaTransaction
  | SequelizeTransaction
  | MikroOrmTransaction;

/** Members of a Sequelize transaction that its type lacks. */
interface WithSequelize {
  readonly sequelize: {
    query(statement: string, options: { readonly transaction: object }): PromiseLike<readonly unknown[]>;
  };
}

/** Runs a statement in a transaction; resolves to the rows, or to an object with the rows. */
export type StatementRunner = (text: string) => PromiseLike<unknown>;

/**
 * Returns the function that runs statements in the transaction of an ORM; `undefined` for anything else. Outside of a
 * transaction the server refuses the first statement of `guard()`.
 */
export function ormRunner(tx: unknown): StatementRunner | undefined {
  const has = (...names: string[]) => names.every((name) => typeof Reflect.get(Object(tx), name) === "function");
  if (has("executeQuery")) return (text) => (tx as KyselyTransaction).executeQuery(compiled(text) as never);
  if (has("$queryRawUnsafe")) return (text) => (tx as PrismaTransaction).$queryRawUnsafe(text);
  if (has("raw", "commit", "rollback")) return (text) => (tx as KnexTransaction).raw(text);
  if (has("execute", "getTransactionContext")) return (text) => (tx as MikroOrmTransaction).execute(text);
  if (has("execute", "rollback", "select")) return (text) => (tx as DrizzleTransaction).execute(text);
  if (!has("afterCommit", "rollback")) return undefined;
  const { sequelize } = tx as WithSequelize;
  return async (text) => (await sequelize.query(text, { transaction: tx as object }))[0];
}

/** Returns a statement as `CompiledQuery.raw()` of Kysely does. */
function compiled(sql: string): object {
  const query = { kind: "RawNode", sqlFragments: [sql], parameters: [] };
  return Object.freeze({ sql, query, queryId: { queryId: crypto.randomUUID() }, parameters: [] });
}

/** The fields in which ORMs keep the error of the database. */
const CAUSES = ["cause", "parent", "driverError"];

/** The SQLSTATE in the message of Prisma's errors, which have it nowhere else. */
const IN_MESSAGE = /Raw query failed\. Code: `(\w{5})`/;

/** Yields an error and the errors that it wraps. */
export function causesOf(error: unknown): unknown[] {
  const { message } = Object(error) as { readonly message?: string };
  const [, code] = IN_MESSAGE.exec(`${message}`) ?? [];
  const causes: unknown[] = CAUSES.map((name) => Reflect.get(Object(error), name));
  return [error, ...causes, code === undefined ? undefined : { code }].filter((each) => each !== undefined);
}
