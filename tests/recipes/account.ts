import { DatabaseSync } from "node:sqlite";

/** What a lock protects: a balance in a database. A write with a fence is refused when a larger one was seen. */
export class Account implements Disposable {
  readonly #database = new DatabaseSync(":memory:");

  constructor() {
    this.#database.exec("CREATE TABLE account (balance INTEGER NOT NULL, fence INTEGER NOT NULL)");
    this.#database.exec("INSERT INTO account VALUES (100, 0)");
  }

  get balance(): number {
    return Number(this.#database.prepare("SELECT balance FROM account").get()!["balance"]);
  }

  /** Writes, and returns whether the database has accepted that. Without a fence there is nothing to compare. */
  write(balance: number, fence: bigint | undefined): boolean {
    const { changes } = fence === undefined
      ? this.#database.prepare("UPDATE account SET balance = ?").run(balance)
      : this.#database.prepare("UPDATE account SET balance = ?, fence = ? WHERE fence <= ?").run(balance, fence, fence);
    return changes === 1;
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}
