/**
 * Locks in an SQLite file, for any number of processes on one machine; nothing to install in Deno and Node 22.5 or
 * later.
 *
 * @example
 * ```ts
 * import { acquire } from "@holdfast/lock";
 * import { sqlite } from "@holdfast/lock/sqlite";
 *
 * using store = sqlite(":memory:"); // for several processes: the path of a file
 * await using lock = await acquire(store, "nightly-report");
 * ```
 *
 * @module
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { checkKeys, checkObserver, show } from "../_check.ts";
import { elapsed, SystemClock } from "../_clock.ts";
import type { Observer } from "../observer.ts";
import { type Attempt, type AttemptOptions, type Claim, drift, type Renewal, type Store } from "../store.ts";

/** What `sqlite()` takes. */
export interface SqliteOptions {
  /** Hears what happens to the locks of this store. */
  observer?: Observer | undefined;
}

/** A store that has a file open. */
export interface SqliteStore extends Store, Disposable {
  /** Closes the file. Locks that are still held end with their leases. */
  close(): void;
}

/**
 * A store in an SQLite file, which is made if it does not exist. The file must lie on a local disk: SQLite's own locks
 * do not hold on network file systems.
 *
 * @example
 * ```ts
 * import { acquire } from "@holdfast/lock";
 * import { sqlite } from "@holdfast/lock/sqlite";
 *
 * using store = sqlite(":memory:");
 * await using lock = await acquire(store, "nightly-report", { wait: 1_000 });
 * ```
 *
 * @param path the path of the file
 * @param options an observer
 * @throws {TypeError} when the path is no string or empty, or an option is unknown or of the wrong kind
 * @throws {Error} when this runtime has no `node:sqlite`, or the file cannot be opened
 */
export function sqlite(path: string, options: SqliteOptions = {}): SqliteStore {
  if (typeof path !== "string" || path === "") {
    throw new TypeError(`path must be a string that is not empty: got ${show(path)}`);
  }
  const { observer } = checkKeys(options, ["observer"]);
  checkObserver(observer);
  return new FileStore(path, observer);
}

/** The shortest and the longest time between two attempts of a waiter, in milliseconds. */
const POLL = { min: 1, max: 50 } as const;

/** The next attempt comes after this part of the time for which the waiter's place in the queue has not changed. */
const PATIENCE = 1 / 4;

/** A waiter that has not been seen for so many milliseconds is passed over: ten polls, for a process under load. */
const DEAD = 500;

/** How often a waiter writes down that it is alive, in milliseconds; its other polls only read. */
const SIGN_OF_LIFE = 100;

/** After so many milliseconds the entry of a dead waiter is deleted: its machine may have been asleep. */
const FORGET = 600_000;

/** How long another process may keep the file to itself before that is a fault, in milliseconds. */
const BUSY_LIMIT = 5_000;

/** SQLite's result code for that. */
const SQLITE_BUSY = 5;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS locks (
    name TEXT PRIMARY KEY, owner TEXT NOT NULL, expires REAL NOT NULL, lease REAL NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS waiters (
    ticket INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, owner TEXT NOT NULL, seen REAL NOT NULL,
    UNIQUE (name, owner)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS fences (id INTEGER PRIMARY KEY CHECK (id = 1), last INTEGER NOT NULL) STRICT;
  INSERT OR IGNORE INTO fences VALUES (1, 0);
`;

/** What each statement does, with @name, @owner, @lease, and @now in milliseconds of the wall clock. */
const STATEMENTS = {
  // The time left, and whose it is. A clock that was set back must not make the lease longer than it is.
  holder: `SELECT owner, min(expires - @now, lease) AS left FROM locks WHERE name = @name`,
  // How many live waiters are ahead. A sign of life from the future was written before the clock was set back.
  ahead: `SELECT count(*) AS ahead FROM waiters WHERE name = @name AND abs(@now - seen) < ${DEAD}
    AND ticket < coalesce((SELECT ticket FROM waiters WHERE name = @name AND owner = @owner), 9e18)`,
  fence: `UPDATE fences SET last = max(last + 1, CAST(@now * 1000 AS INTEGER)) RETURNING last`,
  hold: `INSERT INTO locks VALUES (@name, @owner, @now + @lease, @lease)
    ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, expires = excluded.expires, lease = excluded.lease`,
  mend: `UPDATE locks SET expires = @now + lease WHERE name = @name AND expires > @now + lease`,
  renew: `UPDATE locks SET expires = @now + @lease, lease = @lease
    WHERE name = @name AND owner = @owner AND expires > @now`,
  free: `DELETE FROM locks WHERE name = @name AND owner = @owner`,
  enqueue: `INSERT INTO waiters (name, owner, seen) VALUES (@name, @owner, @now)
    ON CONFLICT (name, owner) DO UPDATE SET seen = excluded.seen`,
  leave: `DELETE FROM waiters WHERE name = @name AND owner = @owner`,
  forget: `DELETE FROM waiters WHERE name = @name AND abs(@now - seen) > ${FORGET}`,
} as const;

type Statements = { readonly [statement in keyof typeof STATEMENTS]: StatementSync };

/** What this process knows of an owner that waits. */
interface Waiter {
  ahead: number;
  /** Since when so many are ahead. */
  since: number;
  /** When it last wrote down that it is alive. */
  signed: number;
}

class FileStore implements SqliteStore {
  readonly drift = drift;
  readonly observer: Observer | undefined;
  readonly #clock = new SystemClock();
  readonly #path: string;
  readonly #database: DatabaseSync;
  #statements: Statements | undefined;
  readonly #waiters = new Map<string, Waiter>();

  constructor(path: string, observer: Observer | undefined) {
    this.#path = path;
    this.observer = observer;
    this.#database = open(path);
  }

  get closed(): boolean {
    return !this.#database.isOpen;
  }

  async attempt(claim: Claim, { enqueue }: AttemptOptions): Promise<Attempt> {
    const { owner } = claim;
    const now = this.#clock.now().wall;
    const waiter = this.#waiters.get(owner);
    // Most polls find nothing changed: they only read, so that waiters do not hold up one another.
    if (waiter !== undefined && Math.abs(now - waiter.signed) < SIGN_OF_LIFE) {
      const { left, ahead, mine } = await this.#retry((run) => look(run, claim, now));
      if (!mine && (left > 0 || ahead > 0)) return this.#busy(waiter, left, ahead, now);
    }
    const found = await this.#transact((run) => {
      const { left, ahead, mine } = look(run, claim, now);
      const { name, lease } = claim;
      if (mine || left <= 0 && ahead === 0) {
        run.leave.run({ name, owner });
        run.hold.run({ name, owner, lease, now });
        return { fence: BigInt(Number(run.fence.get({ now })?.["last"])), left, ahead };
      }
      run.mend.run({ name, now });
      run.forget.run({ name, now });
      if (enqueue) run.enqueue.run({ name, owner, now });
      return { fence: undefined, left, ahead };
    });
    if (found.fence !== undefined) {
      this.#waiters.delete(owner);
      return { granted: true, fence: found.fence };
    }
    if (!enqueue) return { granted: false, retryAfter: POLL.min };
    const entry = waiter ?? { ahead: found.ahead, since: now, signed: now };
    entry.signed = now;
    this.#waiters.set(owner, entry);
    return this.#busy(entry, found.left, found.ahead, now);
  }

  async renew({ name, owner, lease }: Claim): Promise<Renewal> {
    const { changes } = await this.#transact((run) =>
      run.renew.run({ name, owner, lease, now: this.#clock.now().wall })
    );
    return Number(changes) === 1 ? "renewed" : "lost";
  }

  async release({ name, owner }: Claim): Promise<boolean> {
    this.#waiters.delete(owner);
    return await this.#transact((run) => {
      const held = run.holder.get({ name, now: this.#clock.now().wall });
      const freed = Number(run.free.run({ name, owner }).changes) > 0 && Number(held?.["left"]) > 0;
      return Number(run.leave.run({ name, owner }).changes) > 0 || freed;
    });
  }

  close(): void {
    this.#statements = undefined;
    if (!this.closed) this.#database.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** A waiter looks again soon when its place has just changed, and ever more rarely when it does not. */
  #busy(waiter: Waiter, left: number, ahead: number, now: number): Attempt {
    if (waiter.ahead !== ahead || now < waiter.since) Object.assign(waiter, { ahead, since: now });
    // Nobody is served sooner than those ahead take to hand over.
    const soonest = POLL.min * Math.max(1, ahead);
    const pause = Math.min(Math.max((now - waiter.since) * PATIENCE, soonest), POLL.max);
    return { granted: false, retryAfter: left > 0 && ahead === 0 ? Math.min(pause, Math.max(left, POLL.min)) : pause };
  }

  #transact<T>(work: (run: Statements) => T): Promise<T> {
    return this.#retry((run) => {
      // IMMEDIATE: a read that turned into a write could find that others have written in between.
      this.#database.exec("BEGIN IMMEDIATE");
      try {
        const result = work(run);
        this.#database.exec("COMMIT");
        return result;
      } catch (error) {
        try {
          this.#database.exec("ROLLBACK");
        } catch {
          // After some errors, such as a full disk, SQLite has rolled back by itself: what counts is that error.
        }
        throw error;
      }
    });
  }

  /** SQLite itself would sleep while another process writes, and block this one: wait outside of it instead. */
  async #retry<T>(work: (run: Statements) => T): Promise<T> {
    const started = this.#clock.now();
    for (let pause = 1;; pause = Math.min(pause * 2, POLL.max)) {
      try {
        return work(this.#statements ??= this.#prepare());
      } catch (error) {
        if (!isBusy(error) || elapsed(started, this.#clock.now()) > BUSY_LIMIT) throw error;
      }
      await this.#clock.sleep(pause * Math.random());
    }
  }

  #prepare(): Statements {
    if (this.closed) throw new Error(`the store ${show(this.#path)} is closed`);
    // WAL: readers and the writer do not wait for each other. NORMAL: a commit outlives the process, not a power cut,
    // which no holder outlives either.
    this.#database.exec("PRAGMA busy_timeout = 0; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    this.#database.exec(SCHEMA);
    const prepared = Object.entries(STATEMENTS).map(([key, sql]) => [key, this.#database.prepare(sql)]);
    return Object.fromEntries(prepared) as Statements;
  }
}

/** How the lock stands for an owner: the time that the holder has left, the live waiters ahead, whether it holds it. */
function look(run: Statements, { name, owner }: Claim, now: number): { left: number; ahead: number; mine: boolean } {
  const holder = run.holder.get({ name, now });
  const left = holder === undefined ? 0 : Number(holder["left"]);
  const ahead = Number(run.ahead.get({ name, owner, now })?.["ahead"]);
  return { left, ahead, mine: left > 0 && holder?.["owner"] === owner };
}

function open(path: string): DatabaseSync {
  // Not an import: this module must load where there is no SQLite, to say so.
  const module = globalThis.process?.getBuiltinModule?.("node:sqlite");
  if (module === undefined) {
    throw new Error("sqlite() needs node:sqlite, which this runtime lacks: use Deno 2.2, Node 22.5 or later");
  }
  try {
    return new module.DatabaseSync(path);
  } catch (error) {
    throw new Error(`Cannot open ${show(path)}: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
}

function isBusy(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = Number(Reflect.get(error, "errcode"));
  return Number.isNaN(code) ? error.message.includes("database is locked") : (code & 0xff) === SQLITE_BUSY;
}
