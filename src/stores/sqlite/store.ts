import { checkKeys, checkObserver, show } from "../../_check.ts";
import { type Clock, SystemClock } from "../../_clock.ts";
import type { Observer } from "../../observer.ts";
import {
  type Attempt,
  type AttemptOptions,
  type Capability,
  type Claim,
  drift,
  type Entry,
  holdOf,
  kindOf,
  type Renewal,
  type Snapshot,
  type Store,
} from "../../store.ts";
import { ownerOf } from "../../_party.ts";
import { Evictions } from "./evictions.ts";
import { LockFile } from "./file.ts";
import { enter, grant, take } from "./grant.ts";
import { look, type Standing } from "./standing.ts";
import { Waiters } from "./waiters.ts";

/** What `sqlite()` takes. */
export interface SqliteOptions {
  /** Hears what happens to the locks of this store. */
  observer?: Observer | undefined;
}

/** A store that has a file open. */
export interface SqliteStore extends Store, Disposable {
  /** Takes the lock from whoever holds it. Resolves to how many holds there were. */
  evict(name: string): Promise<number>;
  /** Lists who holds the locks of this file and who waits for them, in all processes. */
  query(): Promise<Snapshot>;
  /** Closes the file. Locks that are still held end with their leases. */
  close(): void;
}

/**
 * A store in an SQLite file, which is made if it does not exist. The file must lie on a local disk: SQLite's own locks
 * do not hold on network file systems. It may be the database of an application, if that may use a write-ahead log: the
 * names of all tables for locks begin with `holdfast_`. That a file is no database, or cannot be written to, shows when
 * it is first used.
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
 * @throws {TypeError} when the path is no string, empty or a `file:` URI, or an option is unknown or of the wrong kind
 * @throws {Error} when this runtime has no `node:sqlite`, or the file cannot be opened
 */
export function sqlite(path: string, options: SqliteOptions = {}): SqliteStore {
  if (typeof path !== "string" || path === "") {
    throw new TypeError(`path must be a string that is not empty: got ${show(path)}`);
  }
  if (path.startsWith("file:")) {
    throw new TypeError(`path must be a path, not a URI: got ${show(path)}`);
  }
  const { observer } = checkKeys(options, ["observer"]);
  checkObserver(observer);
  return new FileStore(path, observer, new SystemClock());
}

/** Locks as rows of a file. */
export class FileStore implements SqliteStore {
  readonly drift = drift;
  readonly capabilities: readonly Capability[] = ["shared", "permits", "owner", "steal"];
  readonly observer: Observer | undefined;
  readonly #clock: Clock;
  readonly #file: LockFile;
  readonly #waiters: Waiters;
  readonly #evictions: Evictions;

  /** Opens a file, with a clock. */
  constructor(path: string, observer: Observer | undefined, clock: Clock) {
    this.observer = observer;
    this.#clock = clock;
    this.#file = new LockFile(path, clock);
    this.#waiters = new Waiters(clock);
    this.#evictions = new Evictions(this.#file, clock);
  }

  get closed(): boolean {
    return this.#file.closed;
  }

  async attempt(claim: Claim, { enqueue, steal = false }: AttemptOptions): Promise<Attempt> {
    const now = this.#clock.now().wall;
    const waiter = this.#waiters.get(claim);
    // Most polls find nothing changed: they only read, so that waiters do not hold up one another.
    if (!steal && waiter !== undefined && !this.#waiters.mustSign(waiter)) {
      const standing = await this.#file.read((run, now) => look(run, claim, waiter.ticket, now));
      if (standing.outcome !== "free" && !standing.late) return this.#refuse(claim, standing, now);
    }
    const { standing, fence, ticket, due } = await this.#file.write((run, now) => {
      const due = this.#waiters.due();
      // Before it looks: those ahead count, also just after the clock was set.
      for (const { claim, ticket } of due) enter(run, claim, ticket, now);
      const standing = look(run, claim, waiter?.ticket, now);
      // Whatever the outcome: also who is told of a conflict, or is granted beside others, must see the dead end.
      if (standing.late) run.mend.run(now, claim.name, now);
      const stolen = steal && standing.fence === undefined;
      if (stolen) take(run, claim.name);
      if (stolen || standing.outcome === "free") {
        // Here already: nobody may write any more that it waits.
        this.#waiters.delete(claim);
        const fence = grant(run, claim, stolen ? { ...standing, kind: kindOf(claim) } : standing, now);
        return { standing, fence, due };
      }
      const ticket = enqueue && standing.outcome === "busy" ? enter(run, claim, standing.ticket, now) : undefined;
      run.forget.run(now);
      return { standing, ticket, due };
    });
    for (const waiter of due) waiter.signed = now;
    if (fence !== undefined) return { granted: true, fence: BigInt(fence) };
    if (ticket !== undefined) this.#waiters.add(claim, ticket, now);
    return this.#refuse(claim, standing, now);
  }

  async renew(claim: Claim): Promise<Renewal> {
    const { name, lease } = claim;
    const { changes } = await this.#file.write((run, now) =>
      run.renew.run(now + lease, lease, name, holdOf(claim), now)
    );
    return Number(changes) === 1 ? "renewed" : "lost";
  }

  async release(claim: Claim): Promise<boolean> {
    this.#waiters.delete(claim);
    const { name } = claim;
    const hold = holdOf(claim);
    return await this.#file.write((run, now) => {
      const expires = run.expiry.get(name, hold)?.["expires"];
      if (expires !== undefined) run.free.run(name, hold);
      if (Number(expires) > now) return true;
      const ticket = run.ticket.get(name, hold)?.["ticket"];
      if (ticket !== undefined) run.leave.run(ticket);
      return ticket !== undefined;
    });
  }

  eviction(claim: Claim, signal: AbortSignal): Promise<void> {
    return this.#evictions.watch(claim, signal);
  }

  async evict(name: string): Promise<number> {
    return await this.#file.write((run, now) => {
      const holds = Number(run.count.get(name, now)?.["holds"]);
      take(run, name);
      return holds;
    });
  }

  async query(): Promise<Snapshot> {
    const rows = await this.#file.read((run, now) => run.list.all(now, now));
    const entries = (held: number): Entry[] =>
      rows.filter((row) => row["held"] === held).map(({ name, party, kind }) => ({
        name: String(name),
        owner: ownerOf(String(party)),
        mode: kind === "shared" ? "shared" : "exclusive",
        permits: typeof kind === "number" ? kind : undefined,
      }));
    return { held: entries(1), pending: entries(0) };
  }

  close(): void {
    this.#evictions.stop();
    this.#file.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #refuse(claim: Claim, standing: Standing, now: number): Attempt {
    const { outcome } = standing;
    if (typeof outcome === "object") return { granted: false, conflict: outcome };
    return { granted: false, retryAfter: this.#waiters.pause(claim, standing, now) };
  }
}
