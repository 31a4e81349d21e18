import type { Observer } from "../../events.ts";
import { HandoffStore } from "../../internal/handoff/handoff_store.ts";
import { entryOf } from "../../internal/listing/entry.ts";
import { checkEvict } from "../../internal/listing/eviction.ts";
import { checkQuery, nameFilter, withRanks } from "../../internal/listing/query_options.ts";
import { readMeta } from "../../internal/process/meta.ts";
import { ShortLivedMap } from "../../internal/process/short_lived.ts";
import { aborted, calledOrAborted } from "../../internal/time/aborted.ts";
import { type Clock, SystemClock } from "../../internal/time/clock.ts";
import {
  type Attempt,
  type AttemptOptions,
  type Capability,
  type Claim,
  drift,
  type Entry,
  type EvictOptions,
  handleOf,
  type HolderEntry,
  type Meta,
  type QueryOptions,
  type Renewal,
  type Snapshot,
  type Store,
} from "../../store.ts";
import type { Backend, ListedDocuments } from "./backend.ts";
import { attempt, evict, release, renew, succeed } from "./changes.ts";
import { type LockDocument, parseDocument } from "./document.ts";
import { type CasContext, CasLock } from "./lock.ts";
import { type CasOptions, type CasSettings, checkCasOptions } from "./options.ts";
import { DocumentSweeper } from "./sweeper.ts";
import { LOOK, Watcher } from "./watcher.ts";

/**
 * Returns a store that keeps each lock as one small document in a backend: anything that can replace a text if its version
 * is still the one that was read.
 *
 * @throws {TypeError} when the backend lacks a method, or an option is unknown or of the wrong kind
 * @throws {RangeError} when `maxClockSkew` is negative
 */
export function cas<Version>(backend: Backend<Version>, options: CasOptions = {}): Store {
  const settings = checkCasOptions(backend as Backend, options);
  const clock = new SystemClock();
  return new HandoffStore(new CasStore(backend as Backend, settings, clock), clock);
}

const CAPABILITIES: readonly Capability[] = [
  ...["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"] as const,
];

/** The largest document where the backend does not say, in bytes. */
const MAX_BYTES = 1_000_000;

/** How many documents a page of a listing has at most, if the caller does not say. */
const PAGE = 1_000;

/** One lock of this store object. */
interface Known {
  readonly lock: CasLock;
  readonly watcher: Watcher;
  /** The holders here that watch for revocation, by their handles. */
  readonly watching: Map<string, (document: LockDocument) => void>;
}

/** A lock in a listing. */
interface ListedDocument {
  readonly document: LockDocument;
  /** The server's clock, where it has one. */
  readonly time: number | undefined;
}

/** Keeps locks as documents. */
export class CasStore implements Store {
  readonly drift = drift;
  readonly capabilities: readonly Capability[];
  readonly observer: Observer | undefined;
  readonly evict: (name: string, options?: EvictOptions) => Promise<number>;
  readonly query?: (options?: QueryOptions) => Promise<Snapshot>;
  readonly #context: CasContext;
  readonly #sweeper: DocumentSweeper;
  readonly #looking = new Set<Watcher>();
  readonly #locks = new ShortLivedMap<string, Known>(({ lock, watching }) => lock.isUseless && watching.size === 0);

  /** Makes a store on a clock. */
  constructor(backend: Backend, { maxClockSkew, observer, remote }: CasSettings, clock: Clock, random = Math.random) {
    const { maxBytes = MAX_BYTES } = backend;
    this.observer = observer;
    const store = remote?.store ?? crypto.randomUUID().slice(0, 8);
    this.#context = { backend, clock, store, maxClockSkew, maxBytes, remote, random };
    this.#sweeper = new DocumentSweeper(backend, clock);
    this.capabilities = CAPABILITIES.filter((capability) => capability !== "query" || backend.list !== undefined);
    this.evict = (name, options) => this.#evict(name, options);
    if (backend.list !== undefined) this.query = (options) => this.#query(options);
    backend.onClosed?.(() => {
      for (const { lock } of this.#locks.values()) lock.waiters.wakeAll();
    });
  }

  get closed(): boolean {
    return this.#context.backend.closed ?? false;
  }

  onClosed(run: () => void): () => void {
    return this.#context.backend.onClosed?.(run) ?? (() => {});
  }

  async attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const { lock, watcher } = this.#entry(claim.name);
    if (options.enqueue) lock.waiters.asks(claim);
    try {
      return await lock.change(attempt(claim, options, lock.waiters, this.#context.store));
    } finally {
      // It is alive, however long that took.
      lock.waiters.notice(claim);
      watcher.update();
    }
  }

  renew(claim: Claim): Promise<Renewal> {
    return this.#entry(claim.name).lock.change(renew(claim));
  }

  async release(claim: Claim): Promise<boolean> {
    const { lock, watcher } = this.#entry(claim.name);
    lock.waiters.notice(claim);
    this.#sweeper.sweepIfDue();
    try {
      return await lock.change(release(claim));
    } finally {
      // Also if that failed: the next write of this store object removes what nobody owns.
      lock.waiters.delete(claim);
      watcher.update();
    }
  }

  async succeed(from: Claim, to: Claim): Promise<void> {
    const { lock } = this.#entry(from.name);
    lock.waiters.succeed(from, to);
    await lock.change(succeed(from, to));
  }

  forget(claim: Claim): void {
    const { waiters } = this.#entry(claim.name).lock;
    if (waiters.get(claim)?.state === "taken") waiters.delete(claim);
  }

  /** Returns whether a handle waits here, as far as this store object has been asked since it was made. */
  knows(claim: Claim): boolean {
    return this.#entry(claim.name).lock.waiters.get(claim) !== undefined;
  }

  /** Removes what is over from a document: leases that have ended, waiters that are dead. */
  async look(name: string): Promise<void> {
    await this.#entry(name).lock.change(LOOK);
  }

  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    const { lock, watcher } = this.#entry(claim.name);
    const waiter = lock.waiters.get(claim);
    if (waiter === undefined) return aborted(signal);
    waiter.usesWakeups = true;
    // It may have become its turn between the attempt and this call.
    if (lock.last !== undefined && lock.waiters.isDue(claim, lock.last.document)) return Promise.resolve();
    return calledOrAborted(signal, (wake) => {
      waiter.wake = wake;
      watcher.update();
      return () => {
        waiter.wake = undefined;
        lock.waiters.notice(claim);
        watcher.update();
      };
    });
  }

  async revocation(claim: Claim, signal: AbortSignal): Promise<Meta | void> {
    const { lock, watcher, watching } = this.#entry(claim.name);
    const handle = handleOf(claim);
    return await calledOrAborted<Meta | undefined>(signal, (revoked) => {
      let asking = false;
      const look = (document: LockDocument) => {
        if (asking || document.holders.has(handle)) return;
        // Only a write decides: what was read may be old.
        asking = true;
        lock.change(renew(claim)).then((renewal) => {
          const { revoked: last } = lock.last?.document ?? {};
          if (renewal === "lost") revoked(readMeta(last?.handles.includes(handle) ? last.by : undefined));
        }, () => {}).finally(() => asking = false);
      };
      watching.set(handle, look);
      if (lock.last !== undefined) look(lock.last.document);
      watcher.update();
      return () => {
        watching.delete(handle);
        watcher.update();
      };
    });
  }

  async #evict(name: string, options?: EvictOptions): Promise<number> {
    return await this.#entry(name).lock.change(evict(checkEvict(options)));
  }

  async #query(options?: QueryOptions): Promise<Snapshot> {
    const { name, limit, cursor, ...rest } = checkQuery(options);
    const { backend } = this.#context;
    if (name !== undefined) {
      const { value, time } = await backend.read(name);
      return this.#snapshot([{ document: parseDocument(name, value), time }]);
    }
    const matches = nameFilter(rest);
    const listed: ListedDocument[] = [];
    let next = cursor;
    do {
      const page = await backend.list!(limit ?? PAGE, next);
      listed.push(...page.documents.filter(({ key }) => matches(key)).flatMap(listedDocuments));
      next = page.cursor;
    } while (next !== undefined && limit === undefined);
    return { ...this.#snapshot(listed), ...next === undefined ? {} : { cursor: next } };
  }

  #snapshot(listed: readonly ListedDocument[]): Snapshot {
    const held: HolderEntry[] = [];
    const pending: (Entry & { readonly member?: boolean })[] = [];
    for (const { document, time } of listed) {
      const now = time ?? this.#context.clock.now().wall;
      for (const holder of document.holders.values()) {
        const { claim, grantedAt, end, lease, fence } = holder;
        const expiresIn = Math.min(end - now, lease);
        if (expiresIn <= 0) continue;
        held.push({ ...entryOf(claim), since: grantedAt, expiresIn, fence });
        pending.push(...document.membersOf(holder).map((waiter) => ({ ...waiterEntry(waiter), member: true })));
      }
      pending.push(...document.queue.map(waiterEntry));
    }
    return { held, pending: withRanks(pending) };
  }

  #entry(name: string): Known {
    const known = this.#locks.get(name);
    if (known !== undefined) return known;
    const { backend, clock } = this.#context;
    const watching: Known["watching"] = new Map();
    const lock = new CasLock(name, this.#context, ({ waiters }, document) => {
      watcher.seen();
      waiters.wakeFor(document);
      for (const look of watching.values()) look(document);
    });
    const isWanted = () => watching.size > 0 || lock.waiters.sleeping.length > 0;
    const watcher = new Watcher(lock, backend, clock, this.#looking, isWanted);
    const entry = { lock, watcher, watching };
    this.#locks.set(name, entry);
    return entry;
  }
}

/** Reads a document of a listing; none if it is no document of this version, so that it does not hide the others. */
function listedDocuments({ key, value, time }: ListedDocuments["documents"][number]): ListedDocument[] {
  try {
    return [{ document: parseDocument(key, value), time }];
  } catch {
    return [];
  }
}

function waiterEntry({ claim, queuedAt }: { readonly claim: Claim; readonly queuedAt: number }): Entry {
  return { ...entryOf(claim), since: queuedAt };
}
