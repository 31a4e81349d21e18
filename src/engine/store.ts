import type { Observer } from "../contract/events.ts";
import { HandoffStore } from "../handoff/handoff_store.ts";
import { HandoffPlace } from "../handoff/place.ts";
import { checkQuery, nameFilter } from "../internal/listing/query_options.ts";
import { checkEvict } from "../internal/listing/eviction.ts";
import { readMeta } from "../internal/process/meta.ts";
import { snapshotOf } from "../rules/snapshot.ts";
import { ShortLivedMap } from "../time/short_lived.ts";
import { aborted, calledOrAborted } from "../time/aborted.ts";
import { type Clock, SystemClock } from "../time/clock.ts";
import {
  type Attempt,
  type AttemptOptions,
  CAPABILITIES,
  type Capability,
  type Claim,
  drift,
  type EvictOptions,
  handleOf,
  type ListingStore,
  type Meta,
  type QueryOptions,
  type Renewal,
  type Snapshot,
  type Store,
} from "../contract/store.ts";
import type { Backend, ListedDocuments } from "./backend.ts";
import { attempt, evict, release, renew, succeed } from "./changes.ts";
import { type DocumentHolder, type LockDocument, parseDocument } from "./document.ts";
import type { CasContext } from "./lock.ts";
import { type CasOptions, type CasSettings, checkCasOptions } from "./options.ts";
import { DocumentSweeper } from "./sweeper.ts";
import { OwnTimers } from "./timers.ts";
import { look, WatchedLock } from "./watcher.ts";

/**
 * Returns a store that keeps each lock as one small document in a backend, which replaces a text only if its version
 * has not changed since it was read.
 *
 * @throws {TypeError} when the backend lacks a method, or an option is unknown or of the wrong kind
 * @throws {RangeError} when `maxClockSkew` is negative
 */
export function cas<Version>(backend: Backend<Version>, options: CasOptions = {}): Store {
  return storeOf(backend, options, backend);
}

/** Creates the store of a backend that lists. All backends of the same client and part keep the same documents. */
export function casOf<Version>(
  backend: Backend<Version> & Required<Pick<Backend<Version>, "list">>,
  options: CasOptions,
  client: object,
  part?: string,
): ListingStore {
  return storeOf(backend, options, client, part) as Store as ListingStore;
}

function storeOf<Version>(backend: Backend<Version>, options: CasOptions, client: object, part?: string): HandoffStore {
  const settings = checkCasOptions(backend as Backend, options);
  const clock = new SystemClock();
  const store = new CasStore(backend as Backend, settings, clock);
  return new HandoffStore(store, clock, undefined, new HandoffPlace(client, part));
}

/** The largest document of a backend without `maxBytes`, in bytes. */
const MAX_BYTES = 1_000_000;

/** The default number of documents on a page of a listing. */
const PAGE = 1_000;

/** A lock in a listing, and the server's clock, where the server has one. */
type ListedDocument = readonly [document: LockDocument, time: number | undefined];

export class CasStore implements Store {
  readonly drift = drift;
  readonly capabilities: readonly Capability[];
  readonly observer: Observer | undefined;
  readonly query?: (options?: QueryOptions) => Promise<Snapshot>;
  readonly #context: CasContext;
  readonly #locks = new ShortLivedMap<string, WatchedLock>(({ isUseless }) => isUseless);

  constructor(backend: Backend, { maxClockSkew, observer, remote }: CasSettings, clock: Clock, random = Math.random) {
    const { maxBytes = MAX_BYTES } = backend;
    this.observer = observer;
    const id = crypto.randomUUID().slice(0, 8);
    let writes = 0;
    const writeId = () => `${id}.${(++writes).toString(36)}`;
    this.#context = {
      ...{ backend, clock, writeId, maxClockSkew, maxBytes, remote, random },
      store: remote?.store ?? id,
      timers: backend.timers && new OwnTimers(backend, backend.timers, clock),
      sweeper: new DocumentSweeper(backend, clock),
      looking: new Set(),
    };
    this.capabilities = CAPABILITIES.filter((capability) => capability !== "query" || backend.list !== undefined);
    if (backend.list !== undefined) this.query = (options) => this.#query(options);
    backend.onClosed?.(() => {
      for (const { waiters } of this.#locks.values()) waiters.wakeAll();
    });
  }

  get closed(): boolean {
    return this.#context.backend.closed ?? false;
  }

  onClosed(run: () => void): () => void {
    return this.#context.backend.onClosed?.(run) ?? (() => {});
  }

  async attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const lock = this.#lock(claim.name);
    const waiter = options.enqueue ? lock.waiters.asks(claim, options.left) : undefined;
    if (waiter !== undefined) waiter.attempts++;
    try {
      return await lock.change(attempt(claim, options, lock.waiters));
    } finally {
      // The handle is alive, however long the attempt took.
      if (waiter !== undefined) waiter.attempts--;
      lock.waiters.notice(claim);
      lock.update();
    }
  }

  async renew(claim: Claim): Promise<Renewal> {
    const { timers } = this.#context;
    timers?.keep(handleOf(claim), claim.lease);
    const renewal = await this.#lock(claim.name).change(renew(claim));
    if (renewal === "lost") timers?.drop(handleOf(claim));
    return renewal;
  }

  async release(claim: Claim): Promise<boolean> {
    this.#context.timers?.drop(handleOf(claim));
    const lock = this.#lock(claim.name);
    lock.waiters.notice(claim);
    this.#context.sweeper.used();
    try {
      return await lock.change(release(claim));
    } finally {
      // Even if the release failed: the next write of this store object removes waiters that no handle owns.
      lock.waiters.delete(claim);
      lock.update();
    }
  }

  async succeed(from: Claim, to: Claim): Promise<void> {
    const lock = this.#lock(from.name);
    lock.waiters.succeed(from, to);
    await lock.change(succeed(from, to));
  }

  forget(claim: Claim): void {
    const { waiters } = this.#lock(claim.name);
    if (waiters.get(claim)?.isTaken) waiters.delete(claim);
  }

  /** Returns whether a handle waits here, as far as this store object knows. */
  knows(claim: Claim): boolean {
    return this.#lock(claim.name).waiters.get(claim) !== undefined;
  }

  /** Removes expired parts of a document: leases that have ended, waiters that are dead. */
  async look(name: string): Promise<void> {
    await this.#lock(name).change(look());
  }

  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    const lock = this.#lock(claim.name);
    const waiter = lock.waiters.get(claim);
    if (waiter === undefined) return aborted(signal);
    waiter.usesWakeups = true;
    // The handle's turn may have come between the attempt and this call.
    if (lock.last !== undefined && lock.waiters.isDue(claim, lock.last.document)) return Promise.resolve();
    return calledOrAborted(signal, (wake) => {
      waiter.wake = wake;
      lock.update();
      return () => {
        waiter.wake = undefined;
        lock.waiters.notice(claim);
        lock.update();
      };
    });
  }

  async revocation(claim: Claim, signal: AbortSignal): Promise<Meta | void> {
    const lock = this.#lock(claim.name);
    const handle = handleOf(claim);
    return await calledOrAborted<Meta | undefined>(signal, (revoked) => {
      let asking = false;
      const check = (document: LockDocument) => {
        if (asking || document.holders.has(handle)) return;
        // Only a write decides: a read document may be out of date.
        asking = true;
        // If the store fails here, the next renewal detects the loss.
        lock.change(renew(claim)).then((renewal) => {
          const { revoked: last } = lock.last?.document ?? {};
          if (renewal === "lost") revoked(readMeta(last?.handles.includes(handle) ? last.by : undefined));
        }, () => {}).finally(() => asking = false);
      };
      lock.holders.set(handle, check);
      if (lock.last !== undefined) check(lock.last.document);
      lock.update();
      return () => {
        lock.holders.delete(handle);
        lock.update();
      };
    });
  }

  revocationHeard(claim: Claim, signal: AbortSignal): Promise<Meta | void> | undefined {
    return this.#lock(claim.name).isWatched ? this.revocation(claim, signal) : undefined;
  }

  async evict(name: string, options?: EvictOptions): Promise<number> {
    return await this.#lock(name).change(evict(checkEvict(options)));
  }

  async #query(options?: QueryOptions): Promise<Snapshot> {
    const { name, limit, cursor, ...rest } = checkQuery(options);
    const { backend } = this.#context;
    if (name !== undefined) {
      const { value, time } = await backend.read(name);
      return this.#snapshot([[parseDocument(name, value), time]]);
    }
    const matches = nameFilter(rest);
    const listed: ListedDocument[] = [];
    let next = cursor;
    do {
      const page = await backend.list!(limit ?? PAGE, next);
      listed.push(...page.documents.filter(({ key }) => matches(key)).flatMap(listedDocuments));
      next = page.cursor;
    } while (next !== undefined && limit === undefined);
    return this.#snapshot(listed, next);
  }

  #snapshot(listed: readonly ListedDocument[], cursor?: string): Snapshot {
    const { wall } = this.#context.clock.now();
    const locks = listed.map(([document, time = wall]) =>
      [document, ({ end, lease }: DocumentHolder) => Math.min(end - time, lease)] as const
    );
    return snapshotOf(locks, cursor);
  }

  #lock(name: string): WatchedLock {
    const known = this.#locks.get(name);
    if (known !== undefined) return known;
    const made = new WatchedLock(name, this.#context);
    this.#locks.set(name, made);
    return made;
  }
}

/** Reads a document of a listing; returns none if it is none of this version, so that it hides no others. */
function listedDocuments({ key, value, time }: ListedDocuments["documents"][number]): ListedDocument[] {
  try {
    return [[parseDocument(key, value), time]];
  } catch {
    return [];
  }
}
