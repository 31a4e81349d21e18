import type { DatabaseSync } from "node:sqlite";
import { show } from "../../_check.ts";
import { type Clock, elapsed } from "../../_clock.ts";
import { prepare, type Statements } from "./statements.ts";
import { transact } from "./transact.ts";

/** How long another process may keep the file to itself before that is a fault, in milliseconds. */
const BUSY_LIMIT = 5_000;

/** The longest pause before another try meanwhile, in milliseconds. */
const BUSY_PAUSE = 50;

/** SQLite's result code for that. */
const SQLITE_BUSY = 5;

/** What is done to the file, at a moment in milliseconds of the wall clock. */
type Work<T> = (run: Statements, now: number) => T;

/** An open file: what is done to it is tried again while another process keeps it to itself. */
export class LockFile {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #database: DatabaseSync;
  #statements: Statements | undefined;
  // Not the database's isOpen: Node has that since 22.15 only.
  #closed = false;

  /** Opens the file, and makes it if it does not exist. */
  constructor(path: string, clock: Clock) {
    this.#path = path;
    this.#clock = clock;
    this.#database = open(path);
  }

  get closed(): boolean {
    return this.#closed;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#statements = undefined;
    this.#database.close();
  }

  /** Does what writes nothing. */
  read<T>(work: Work<T>): Promise<T> {
    return this.#retry((run) => work(run, this.#clock.now().wall));
  }

  /** Does all of it or nothing, while nobody else writes. */
  write<T>(work: Work<T>): Promise<T> {
    // The time is read in there: others may have written, with a later time than that before a wait for the file.
    return this.#retry((run) => transact(this.#database, () => work(run, this.#clock.now().wall)));
  }

  /** SQLite itself would sleep while another process writes, and block this one: wait outside of it instead. */
  async #retry<T>(work: (run: Statements) => T): Promise<T> {
    const started = this.#clock.now();
    for (let pause = 1;; pause = Math.min(pause * 2, BUSY_PAUSE)) {
      try {
        if (this.closed) throw new Error(`the store ${show(this.#path)} is closed`);
        return work(this.#statements ??= prepare(this.#database));
      } catch (error) {
        if (!isBusy(error) || elapsed(started, this.#clock.now()) > BUSY_LIMIT) throw error;
      }
      await this.#clock.sleep(pause * Math.random());
    }
  }
}

function open(path: string): DatabaseSync {
  // Not an import: this module must load where there is no SQLite, to say so.
  const module = globalThis.process?.getBuiltinModule?.("node:sqlite");
  if (module === undefined) {
    throw new Error("sqlite() needs node:sqlite, which this runtime lacks: use Deno 2.2, Node 22.13 or later");
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
