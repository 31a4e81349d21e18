import { DatabaseSync } from "node:sqlite";

const SCHEMA = `
  PRAGMA busy_timeout = 5000;
  CREATE TABLE IF NOT EXISTS record (id INTEGER PRIMARY KEY, author TEXT NOT NULL, fence INTEGER NOT NULL);
  INSERT OR IGNORE INTO record VALUES (1, 'nobody', 0);
`;

/**
 * Writes into a record that checks fences: it remembers the largest fence that it has seen, and refuses a smaller one
 * in the same statement that writes. Returns whether the record accepted.
 */
export function write(path: string, author: string, fence: bigint): boolean {
  using database = new DatabaseSync(path);
  database.exec(SCHEMA);
  const update = database.prepare("UPDATE record SET author = ?, fence = ? WHERE id = 1 AND fence <= ?");
  return Number(update.run(author, fence, fence).changes) === 1;
}
