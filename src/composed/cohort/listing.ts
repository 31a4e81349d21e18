import type { Instant } from "../../internal/clock.ts";
import { nameFilter, withRanks } from "../../internal/listing.ts";
import { onStoreClock } from "../../internal/store_time.ts";
import {
  type Claim,
  type Entry,
  entryOf,
  handleOf,
  type HolderEntry,
  type QueryOptions,
  type Snapshot,
} from "../../store.ts";
import type { LocalHolder } from "./global_hold.ts";
import type { ProcessIds } from "./process_ids.ts";

/** A handle that waits in this process. */
export interface LocalEntry {
  readonly claim: Claim;
  /** Since when it waits. */
  readonly since: Instant;
}

/** What is to be listed of a name in place of the ids that only the store knows. */
export interface NameListing {
  /** The handles that have the lock, by the id under which the store has it. */
  readonly held: ReadonlyMap<string, LocalHolder>;
  /** The handles in the local queue. */
  readonly waiting: readonly LocalEntry[];
  /** The id under which they wait in the store. */
  readonly asking: string | undefined;
  /** The handles that wait in the store by themselves. It may have forgotten those that have not asked for long. */
  readonly tickets: readonly LocalEntry[];
  /** Whether the store lists the name, as far as this process knows. */
  readonly known: boolean;
}

/** What a {@linkcode Listing} is made of. */
export interface ListingParts {
  /** What the store lists, and what it was asked for. */
  readonly snapshot: Snapshot;
  readonly options: QueryOptions;
  /** The names that handles of this process hold or wait for, and what is to be listed of each. */
  readonly names: Iterable<string>;
  readonly of: (name: string) => NameListing | undefined;
  readonly ids: ProcessIds;
}

/** Returns what a store lists, with the handles of this process in place of the ids under which it asks for them. */
export function withLocalHandles(parts: ListingParts): Snapshot {
  const { held, pending, ...page } = parts.snapshot;
  return { ...new Listing(parts).entries(held, pending), ...page };
}

class Listing {
  readonly #parts: ListingParts;
  /** What this process has of each name that was looked at: at one moment for all of its entries. */
  readonly #known = new Map<string, NameListing | undefined>();
  /** For names with a local holder: since when the process has the lock, by the clock of the store and by its own. */
  readonly #clocks = new Map<string, { readonly known: number | undefined; readonly at: Instant }>();

  constructor(parts: ListingParts) {
    this.#parts = parts;
  }

  entries(held: readonly HolderEntry[], pending: readonly Entry[]): Pick<Snapshot, "held" | "pending"> {
    const holders = held.flatMap((entry) => this.#holder(entry));
    const waiters = new Map<string, Entry[]>();
    for (const entry of pending) {
      const others = waiters.get(entry.name);
      if (others === undefined) waiters.set(entry.name, [entry]);
      else others.push(entry);
    }
    const listed = new Set([...held, ...pending].map(({ name }) => name));
    for (const name of [...listed, ...this.#absent(listed)]) {
      if (!waiters.has(name)) waiters.set(name, []);
    }
    const handles = new Set([...holders, ...pending].map(({ handle }) => handle));
    return {
      held: holders,
      pending: withRanks([...waiters].flatMap(([name, entries]) => this.#waiters(name, entries, handles))),
    };
  }

  /** Returns the handle that has a lock of this process, if any does; the entry itself if it is a stranger's. */
  #holder(entry: HolderEntry): HolderEntry[] {
    if (!this.#parts.ids.has(entry.owner)) return [entry];
    const holder = this.#of(entry.name)?.held.get(entry.owner);
    if (holder === undefined) return [];
    const { claim, fence, hold } = holder;
    this.#clocks.set(entry.name, { known: entry.since, at: hold.since });
    return [{ ...entry, ...entryOf(claim), since: onStoreClock(holder.since, entry.since, hold.since), fence }];
  }

  /** Returns the waiters of a name, given those that the store lists. */
  #waiters(name: string, entries: readonly Entry[], handles: ReadonlySet<string>): Entry[] {
    const known = this.#of(name);
    const isStranger = ({ owner }: Entry) => !this.#parts.ids.has(owner);
    if (known === undefined) return entries.filter(isStranger);
    const { asking, tickets, waiting } = known;
    const place = asking === undefined ? -1 : entries.findIndex(({ owner }) => owner === asking);
    // Those that wait for a holder of this process come first. Who asks and is not in the queue yet will be the last.
    const ahead = place >= 0 ? place : asking === undefined ? 0 : entries.length;
    const waiters = [
      ...entries.slice(0, ahead).filter(isStranger),
      ...waiting.map((waiter) => this.#entry(waiter)),
      ...entries.slice(ahead).filter(isStranger),
    ];
    return this.#withTickets(waiters, tickets, handles);
  }

  /** Adds the waiters that the store has forgotten: each behind the one of this process that is ahead of it. */
  #withTickets(waiters: Entry[], tickets: readonly LocalEntry[], handles: ReadonlySet<string>): Entry[] {
    let end = waiters.length;
    for (const ticket of tickets) {
      const handle = handleOf(ticket.claim);
      if (!handles.has(handle)) waiters.splice(end++, 0, this.#entry(ticket));
      else end = 1 + waiters.findIndex((waiter) => waiter.handle === handle) || end;
    }
    return waiters;
  }

  #entry({ claim, since }: LocalEntry): Entry {
    const clock = this.#clocks.get(claim.name);
    return { ...entryOf(claim), since: clock === undefined ? since.wall : onStoreClock(since, clock.known, clock.at) };
  }

  /**
   * Returns the names that only this process knows, or that the store has just forgotten. On the first page those that
   * will not come on a later one; on the others none.
   */
  #absent(listed: ReadonlySet<string>): string[] {
    const { options, names } = this.#parts;
    const isPage = options.name === undefined && (options.limit !== undefined || options.cursor !== undefined);
    if (isPage && options.cursor !== undefined) return [];
    const isWanted = nameFilter(options);
    const absent = [...names].filter((name) => !listed.has(name) && isWanted(name));
    return isPage ? absent.filter((name) => this.#of(name)?.known === false) : absent;
  }

  #of(name: string): NameListing | undefined {
    if (!this.#known.has(name)) this.#known.set(name, this.#parts.of(name));
    return this.#known.get(name);
  }
}
