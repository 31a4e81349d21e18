import { oldestFirst } from "../../display/entries.ts";
import type { Entry, HolderEntry, WaiterEntry } from "@holdfast/lock";
import type { Instant } from "../../time/clock.ts";
import {
  isContended,
  type ListedLock,
  type LockOrder,
  sortLocks,
  type Totals,
  totalsOf,
  waitingSince,
} from "../../listing/locks.ts";
import type { LockPage } from "../../listing/pages.ts";
import type { LeaseEnds } from "./lease_ends.ts";

/** How many holders and waiters of a lock its page shows. */
const SHOWN = 200;

/** A handle as the pages show it. */
export type HandleModel = Omit<Entry, "name">;

/** A holder as the pages show it. */
export interface HolderModel extends HandleModel {
  readonly fence?: string | undefined;
  /** The end of its lease: milliseconds since the Unix epoch, by the clock of this process. */
  readonly ends?: number | undefined;
  /** The longest rest of its lease seen, in milliseconds. */
  readonly longest?: number | undefined;
}

/** A waiter as the pages show it. */
export type WaiterModel = Omit<WaiterEntry, "name">;

/** A lock as the pages show it: plain data, equal as JSON while no visible part changes. */
export interface LockModel {
  readonly name: string;
  /** The first holders, and how many there are. */
  readonly held: readonly HolderModel[];
  readonly holders: number;
  /** The first waiters, and how many there are. */
  readonly pending: readonly WaiterModel[];
  readonly waiters: number;
  /** The start of the longest wait. */
  readonly waitingSince?: number | undefined;
}

/** The part of the locks that a list shows. */
export interface ListPart {
  readonly order: LockOrder;
  /** Whether to show only locks with waiters. */
  readonly contended: boolean;
  /** The number of locks on a page, and the number of the page, from 1 on. */
  readonly limit: number;
  readonly page: number;
}

/** A page of a list as it is shown. */
export interface ListModel {
  /** The locks of the page. */
  readonly locks: readonly LockModel[];
  readonly page: number;
  readonly pages: number;
  /** The totals of all locks that were read, shown or not. */
  readonly totals: Totals;
  /** How many locks were read, and the start of the longest wait for one of them. */
  readonly read: number;
  readonly waitingSince?: number | undefined;
  /** Where the unread locks begin. */
  readonly cursor?: string | undefined;
}

/** Returns the model of the page of a lock. */
export function lockModel(state: ListedLock, ends: LeaseEnds, now: Instant): LockModel {
  ends.update([state], now);
  return modelOf(state, ends, SHOWN, SHOWN);
}

/** Returns the model of a list, with one holder of each lock. `ends` has the ends of the leases. */
export function listModel({ locks, cursor }: LockPage, ends: LeaseEnds, part: ListPart): ListModel {
  const { order, contended, limit } = part;
  const shown = sortLocks(contended ? locks.filter(isContended) : locks, order);
  const pages = Math.max(1, Math.ceil(shown.length / limit));
  // The list may have become shorter since somebody asked for its last page.
  const page = Math.min(part.page, pages);
  return {
    locks: shown.slice((page - 1) * limit, page * limit).map((lock) => modelOf(lock, ends, 1, 1)),
    page,
    pages,
    totals: totalsOf(locks),
    read: locks.length,
    waitingSince: waitingSince({ pending: locks.flatMap(({ pending }) => pending) }),
    cursor,
  };
}

function modelOf(lock: ListedLock, ends: LeaseEnds, holders: number, waiters: number): LockModel {
  const { name, held, pending } = lock;
  return {
    name,
    held: oldestFirst(held).slice(0, holders).map((entry) => holderModel(entry, ends)),
    holders: held.length,
    pending: pending.slice(0, waiters).map(waiterModel),
    waiters: pending.length,
    waitingSince: waitingSince(lock),
  };
}

function holderModel(entry: HolderEntry, ends: LeaseEnds): HolderModel {
  return { ...handleModel(entry), fence: entry.fence?.toString(), ...ends.of(entry) };
}

function waiterModel(entry: WaiterEntry): WaiterModel {
  return { ...handleModel(entry), rank: entry.rank, member: entry.member };
}

function handleModel({ owner, handle, mode, permits, meta, since }: Entry): HandleModel {
  return { owner, handle, mode, permits, meta, since };
}
