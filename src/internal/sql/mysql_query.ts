/** The argument of `query()` of mysql2 and mariadb. */
export interface MysqlQuery {
  /** One statement, with its values in it. */
  readonly sql: string;
  /** Makes rows arrays, whatever the options of the pool. */
  readonly rowsAsArray: boolean;
  /** Makes mariadb return the rows alone. */
  readonly metaAsArray: boolean;
  /** Makes mysql2 return plain rows. */
  readonly nestTables: boolean;
  /** Leaves values as the client reads them, whatever function the pool has. */
  readonly typeCast: (column: unknown, next: () => unknown) => never;
}

/** Returns a query whose answer has the same shape, whatever the options of the pool. */
export function plainQuery(sql: string): MysqlQuery {
  return {
    sql,
    rowsAsArray: true,
    metaAsArray: false,
    nestTables: false,
    typeCast: (_column, next) => next() as never,
  };
}
