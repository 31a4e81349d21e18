import type { DatabaseSync } from "node:sqlite";
import { StoreError } from "../../../contract/errors.ts";
import { type Clock, type Instant, monotonicMs } from "../../../time/clock.ts";
import { show } from "../../../internal/validation.ts";
import { Closable } from "../../../internal/closable.ts";
import { reason } from "../../../internal/reason.ts";
import { BusyTime } from "./busy_time.ts";
import { isBusy, storeError } from "./errors.ts";
import { ensureTables } from "../tables/schema.ts";
import { prepare, type Statements } from "../tables/statements.ts";
import { transact } from "./transact.ts";
import { WriteLoad } from "./write_load.ts";

/** For how long another process may keep the file busy before this is a fault, in milliseconds. */
const BUSY_LIMIT_MS = 5_000;

/** The longest pause while the file is busy, in milliseconds. It does not grow: newcomers would overtake the others. */
const BUSY_PAUSE_MS = 4;

/** The longest time that transactions, or one transaction, take before the event loop turns, in milliseconds. */
const TURN_MS = 4;

/** Work on the file, at a moment in milliseconds of the wall clock. */
export type Work<T> = (run: Statements, now: number) => T;

interface Task {
  readonly since: Instant;
  /** Does the work. Returns the function that resolves the caller's promise, for after the commit. */
  readonly run: Work<() => void>;
  readonly reject: (error: Error) => void;
}

/**
 * An open file. All writes of a process take their turns here, in the order in which they came: only one of them
 * contends with other processes, and writes that wait together share a transaction.
 */
export class LockFile extends Closable {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #database: DatabaseSync;
  readonly #closing = new AbortController();
  readonly #busyTime: BusyTime;
  readonly #load = new WriteLoad();
  #statements: Statements | undefined;
  readonly #tasks: Task[] = [];
  #draining = false;
  /** How many of the first tasks get transactions of their own, because they shared a failed transaction. */
  #separate = 0;

  /** Opens the file, and creates it if it does not exist. */
  constructor(path: string, clock: Clock) {
    super();
    this.#path = path;
    this.#clock = clock;
    this.#database = open(path);
    this.#busyTime = new BusyTime(clock.now());
  }

  /** Closes the file after a last write, which is skipped if the file is busy. */
  close(last: Work<void>): void {
    if (this.closed) return;
    try {
      if (this.#statements !== undefined) this.#transact((run) => last(run, this.#clock.now().wall));
    } catch {
      // Busy, or broken: other clients delete what a dead client leaves.
    }
    this.foundClosed();
    this.#database.close();
    this.#closing.abort("closed");
    for (const { reject } of this.#tasks.splice(0)) reject(this.#closedError());
  }

  async read<T>(work: Work<T>): Promise<T> {
    const started = this.#clock.now();
    for (;;) {
      try {
        return work(this.#prepared(), this.#clock.now().wall);
      } catch (error) {
        const late = monotonicMs(started, this.#clock.now()) > BUSY_LIMIT_MS;
        if (!isBusy(error) || late) throw storeError(show(this.#path), error);
      }
      await this.#busyPause();
    }
  }

  /** Runs work in a transaction. The work may run more than once, if a shared transaction fails. */
  write<T>(work: Work<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = (run: Statements, now: number) => {
        const value = work(run, now);
        return () => resolve(value);
      };
      const since = this.#clock.now();
      this.#tasks.push({ since, run, reject });
      if (this.#draining) return;
      // At once, unless the event loop is to turn first.
      const busy = this.#load.at(since.monotonic) < TURN_MS && !this.#batch();
      if (this.#tasks.length > 0) void this.#drain(busy);
    });
  }

  /** Resolves when the earlier writes have been executed, or have failed. */
  async written(): Promise<void> {
    // Whoever asked for a write has its error.
    if (this.#tasks.length > 0) await this.write(() => {}).catch(() => {});
  }

  async #drain(busy: boolean): Promise<void> {
    this.#draining = true;
    while (this.#tasks.length > 0) {
      // SQLite itself would block the event loop while another process writes.
      if (busy) await this.#busyPause();
      else await eventLoopTurn();
      this.#load.reset();
      busy = !this.#batch();
    }
    this.#draining = false;
  }

  #busyPause(): Promise<void> {
    return this.#clock.sleep(BUSY_PAUSE_MS * Math.random(), this.#closing.signal);
  }

  /** Executes the first tasks in one transaction. Returns whether the file was free. */
  #batch(): boolean {
    if (this.#tasks.length === 0) return true;
    const started = this.#clock.now();
    const settle: (() => void)[] = [];
    let begun = 0;
    try {
      const most = this.#separate > 0 ? 1 : this.#tasks.length;
      this.#transact((run) => {
        do {
          // The time is read in here: others may have written, with a later time than that before a wait for the file.
          settle.push(this.#tasks[begun++]!.run(run, this.#clock.now().wall));
        } while (begun < most && this.#clock.now().monotonic - started.monotonic < TURN_MS);
      });
      this.#tasks.splice(0, begun);
      this.#separate = Math.max(0, this.#separate - 1);
    } catch (error) {
      if (isBusy(error)) return this.#noteBusy(started);
      settle.length = 0;
      this.#fail(begun, error);
    }
    this.#busyTime.reset(started);
    this.#load.add(started.monotonic, this.#clock.now().monotonic);
    for (const resolve of settle) resolve();
    return true;
  }

  /** Records that the file is busy. Rejects the tasks that have waited for too long. */
  #noteBusy(now: Instant): false {
    if (this.#busyTime.add(now) < BUSY_LIMIT_MS) return false;
    const late = this.#tasks.filter(({ since }) => monotonicMs(since, now) > BUSY_LIMIT_MS);
    this.#tasks.splice(0, late.length);
    const message = `Cannot use ${show(this.#path)}: another process has kept it to itself for ${BUSY_LIMIT_MS} ms`;
    for (const { reject } of late) reject(new StoreError(message, { cause: new Error("database is locked") }));
    return false;
  }

  /** Rejects the failed task, if known. Otherwise each task is tried again in its own transaction. */
  #fail(begun: number, error: unknown): void {
    if (begun > 1) {
      this.#separate = begun;
      return;
    }
    this.#separate = Math.max(0, this.#separate - 1);
    // If no transaction can begin, none of the tasks can be carried out.
    for (const { reject } of this.#tasks.splice(0, begun === 1 ? 1 : this.#tasks.length)) {
      reject(storeError(show(this.#path), error));
    }
  }

  #transact<T>(work: (run: Statements) => T): T {
    // Before the transaction begins: others cannot write while it runs.
    const run = this.#prepared();
    return transact(this.#database, () => work(run));
  }

  #prepared(): Statements {
    // Not the database's isOpen: Node has that since 22.15 only.
    if (this.closed) throw this.#closedError();
    return this.#statements ??= this.#prepare();
  }

  #prepare(): Statements {
    const database = this.#database;
    // NORMAL: a commit outlives the process. It may not outlive a power cut, but no holder does either.
    database.exec("PRAGMA busy_timeout = 0; PRAGMA synchronous = NORMAL");
    ensureTables(database);
    const statements = prepare(database);
    // WAL: readers and the writer do not wait for each other. Last, as it changes a file for good, and in no
    // transaction.
    database.exec("PRAGMA journal_mode = WAL");
    return statements;
  }

  #closedError(): StoreError {
    const cause = new Error("database is not open");
    return new StoreError(`The store ${show(this.#path)} is closed`, { permanent: true, cause });
  }
}

/** Resolves after a turn of the event loop, sooner than any timer. */
export function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => void globalThis.setImmediate(resolve));
}

function open(path: string): DatabaseSync {
  // Not an import: this module must load where there is no SQLite, to say so.
  const module = globalThis.process?.getBuiltinModule?.("node:sqlite");
  if (module === undefined) {
    throw new StoreError("sqlite() needs node:sqlite, which this runtime lacks: use Deno 2.2, Node 22.13 or later", {
      permanent: true,
    });
  }
  try {
    return new module.DatabaseSync(path);
  } catch (error) {
    const words = reason(error);
    const hint = words.includes("unable to open") ? ". Its directory must exist, and be writable" : "";
    throw new StoreError(`Cannot open ${show(path)}: ${words}${hint}`, { cause: error, permanent: true });
  }
}
