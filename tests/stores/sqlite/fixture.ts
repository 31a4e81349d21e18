import { assert, assertEquals } from "@std/assert";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import type { Attempt, Claim, Conflict } from "../../../src/contract/store.ts";
import type { LockFile } from "../../../src/stores/sqlite/file/file.ts";
import type { Statements } from "../../../src/stores/sqlite/tables/statements.ts";
import { FileStore } from "../../../src/stores/sqlite/store.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

export const LEASE = 60_000;

/** After so many milliseconds a waiter that nobody asks for has left the queue. */
export const ABANDONED = 2_500;

/** After so many milliseconds without a heartbeat a process counts as dead. */
export const DEAD = 3_000;

/** A file with two connections to it, as of two processes. */
export class Fixture implements Disposable {
  readonly clock = new VirtualClock();
  readonly directory = Deno.makeTempDirSync({ prefix: "holdfast_sqlite_" });
  readonly path = `${this.directory}/locks.db`;
  readonly a = this.open();
  readonly b = this.open();

  /** Another connection. */
  open(): FileStore {
    return new FileStore(this.path, undefined, this.clock);
  }

  /** The connection of a process that lives no longer than its first calls: none of its timers runs. */
  openDead(): FileStore {
    const { clock } = this;
    return new FileStore(this.path, undefined, {
      now: () => clock.now(),
      sleep: (ms, signal) => clock.sleep(ms, signal),
      timer: () => ({ cancel: () => {} }),
    });
  }

  /** Changes the file past the stores. */
  sql(statements: string): void {
    using database = new DatabaseSync(this.path);
    database.exec(statements);
  }

  /** Keeps the file busy, as another process does in the middle of a write. */
  lock(): Disposable {
    const database = new DatabaseSync(this.path);
    database.exec("BEGIN IMMEDIATE");
    return {
      [Symbol.dispose]: () => {
        database.exec("COMMIT");
        database.close();
      },
    };
  }

  [Symbol.dispose](): void {
    this.a.close();
    this.b.close();
    Deno.removeSync(this.directory, { recursive: true });
  }
}

/** Defines a test on a file, which fails when a holder or a waiter is left in it. */
export function testWithFixture(name: string, run: (fixture: Fixture) => Promise<void>): void {
  Deno.test(name, async () => {
    using fixture = new Fixture();
    await run(fixture);
    assertEquals(rows(fixture.path), []);
  });
}

/** The handles that a file has, as holders or waiters. */
export function rows(path: string): string[] {
  using database = new DatabaseSync(path);
  if (database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'holdfast_queue'").get() === undefined) return [];
  return database.prepare("SELECT handle FROM holdfast_holders UNION ALL SELECT handle FROM holdfast_queue").all()
    .map((row) => String(row["handle"]));
}

/** A claim for the lock `name`; exclusive, by an owner of its own, unless it says otherwise. */
export function claimOf(claim: Partial<Claim> = {}): Claim {
  return { name: "name", owner: crypto.randomUUID(), mode: "exclusive", lease: LEASE, ...claim };
}

/** Handles of one owner. */
export function handles(owner: string, ...claims: Partial<Claim>[]): Claim[] {
  return claims.map((claim) => claimOf({ ...claim, owner, handle: `${owner}/${crypto.randomUUID()}` }));
}

/** Attempts, and waits in the queue when the lock is busy. */
export async function ask(store: FileStore, claim: Claim): Promise<boolean | Conflict> {
  const attempt = await store.attempt(claim, { enqueue: true });
  return attempt.granted || ("conflict" in attempt ? attempt.conflict : false);
}

/** The fence of an attempt that must be granted. */
export async function fenceOf(attempt: Promise<Attempt>): Promise<bigint> {
  const granted = await attempt;
  assert(granted.granted);
  return granted.fence;
}

/** Counts from now on how often a connection runs a statement; `stall` is called with each run. */
export async function countRuns(
  file: LockFile,
  name: keyof Statements,
  method: "get" | "all",
  stall: () => void = () => {},
): Promise<{ runs: number }> {
  const counter = { runs: 0 };
  await file.read((run) => {
    const statement = run[name];
    const original: (...args: SQLInputValue[]) => unknown = statement[method].bind(statement);
    const counted = (...args: SQLInputValue[]) => {
      counter.runs++;
      stall();
      return original(...args);
    };
    Object.assign(statement, { [method]: counted });
  });
  return counter;
}
