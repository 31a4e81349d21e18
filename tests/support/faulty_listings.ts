import {
  type Claim,
  handleOf,
  type HolderEntry,
  type QueryOptions,
  type Snapshot,
  type WaiterEntry,
} from "../../src/contract/store.ts";
import type { MemoryStore } from "../../src/stores/memory/store.ts";
import type { Breakage } from "./faulty_grants.ts";

/** Returns a breakage that changes what is listed. */
export function showing(change: (snapshot: Snapshot, right: MemoryStore) => Snapshot | Promise<Snapshot>): Breakage {
  return (right) => ({ query: async (options) => await change(await right.query(options), right) });
}

/** Returns a breakage that changes the entries of the holders. */
export function holders(change: (entry: HolderEntry) => HolderEntry): Breakage {
  return showing(({ held, ...rest }) => ({ ...rest, held: held.map(change) }));
}

/** Returns a breakage that changes the entries of the waiters. */
function waiters(change: (entry: WaiterEntry) => WaiterEntry): Breakage {
  return showing(({ pending, ...rest }) => ({ ...rest, pending: pending.map(change) }));
}

/** Returns a breakage that asks the right store for something else. */
function asking(change: (options: QueryOptions) => QueryOptions): Breakage {
  return (right) => ({ query: (options = {}) => right.query(change(options)) });
}

/** Returns a breakage that changes the claims of attempts, which alone say what is kept. */
export function keeping(change: (claim: Claim) => Claim): Breakage {
  return (right) => ({ attempt: (claim, options) => right.attempt(change(claim), options) });
}

/** The meta of a lock is that of its last holder that had any. */
function metaStays(right: MemoryStore): ReturnType<Breakage> {
  const last = new Map<string, string>();
  return keeping((claim) => {
    if (claim.meta !== undefined) last.set(claim.name, claim.meta);
    return { ...claim, meta: claim.meta ?? last.get(claim.name) };
  })(right);
}

/** What all handles of a name list is what the first one has. */
function likeTheFirst<K extends "meta" | "fence">(key: K): Breakage {
  return showing(({ held, ...rest }) => {
    const first = new Map(held.toReversed().map((entry) => [entry.name, entry[key]]));
    return { ...rest, held: held.map((entry) => ({ ...entry, [key]: first.get(entry.name) })) };
  });
}

/** It is listed when the lease ends that was asked for at first. */
function firstLease(right: MemoryStore): ReturnType<Breakage> {
  const ends = new Map<string, number>();
  return {
    attempt: async (claim, options) => {
      const attempt = await right.attempt(claim, options);
      if (attempt.granted && !ends.has(handleOf(claim))) ends.set(handleOf(claim), performance.now() + claim.lease);
      return attempt;
    },
    query: async (options) => {
      const { held, ...rest } = await right.query(options);
      const left = ({ handle }: HolderEntry) => ends.get(handle)! - performance.now();
      return { ...rest, held: held.map((entry) => ({ ...entry, expiresIn: left(entry) })) };
    },
  };
}

/** Every handle holds and waits since its last call. */
function sinceLastCall(right: MemoryStore): ReturnType<Breakage> {
  const last = new Map<string, number>();
  const note = (claim: Claim) => last.set(handleOf(claim), Date.now());
  const since = <E extends HolderEntry>(entry: E): E => ({ ...entry, since: last.get(entry.handle) });
  return {
    attempt: (claim, options) => {
      note(claim);
      return right.attempt(claim, options);
    },
    query: async (options) => {
      const { held, pending, ...rest } = await right.query(options);
      return { ...rest, held: held.map(since), pending: pending.map(since) };
    },
  };
}

/** A holder has held the lock since it began to wait for it. */
function sinceFirstCall(right: MemoryStore): ReturnType<Breakage> {
  const first = new Map<string, number>();
  return {
    attempt: (claim, options) => {
      if (!first.has(handleOf(claim))) first.set(handleOf(claim), Date.now());
      return right.attempt(claim, options);
    },
    query: async (options) => {
      const { held, ...rest } = await right.query(options);
      return { ...rest, held: held.map((entry) => ({ ...entry, since: first.get(entry.handle) })) };
    },
  };
}

/** Lists the names that a regular expression made of the pattern matches. */
function matching(expression: (pattern: string) => RegExp): Breakage {
  return (right) => ({
    query: async ({ match, ...options } = {}) => {
      const { held, ...rest } = await right.query(options);
      if (match === undefined) return { ...rest, held };
      return { ...rest, held: held.filter(({ name }) => expression(match).test(name)) };
    },
  });
}

/** Returns the source of a regular expression for whole names, with what stands there for `*`. */
function whole(pattern: string, star = "[^]*"): string {
  return `^${pattern.replace(/[\\^$.|?+()[\]{}]/g, "\\$&").replaceAll("*", star)}$`;
}

/** The page after each cursor leaves a name out. */
function skipping(right: MemoryStore): ReturnType<Breakage> {
  return {
    query: async (options) => {
      const { held, ...rest } = await right.query(options);
      return { ...rest, held: options?.cursor === undefined ? held : held.slice(1) };
    },
  };
}

/** A page begins after so many names, however many of them have gone. */
function counting(right: MemoryStore): ReturnType<Breakage> {
  return {
    query: async ({ limit = Infinity, cursor = "0", ...options } = {}) => {
      const { held, pending } = await right.query(options);
      const end = Number(cursor) + limit;
      return { held: held.slice(Number(cursor), end), pending, ...end < held.length ? { cursor: `${end}` } : {} };
    },
  };
}

/** Returns a breakage that changes the entries of the members of runs. */
function members(change: (entry: WaiterEntry) => WaiterEntry): Breakage {
  return waiters((entry) => entry.member ? change(entry) : entry);
}

/**
 * Every handle that a run has taken along is listed as a member, while `isListed`, given whether anybody holds the
 * lock.
 */
function membersStay(isListed: (held: boolean) => boolean): Breakage {
  return (right) => {
    const taken = new Map<string, WaiterEntry>();
    return {
      attempt: async (claim, options) => {
        const attempt = await right.attempt(claim, options);
        if (attempt.granted && attempt.run?.length) {
          for (const entry of (await right.query()).pending) if (entry.member) taken.set(entry.handle, entry);
        }
        return attempt;
      },
      query: async (options) => {
        const { held, pending } = await right.query(options);
        const stay = isListed(held.length > 0) ? [...taken.values()] : [];
        const queue = pending.filter(({ member }) => !member);
        return { held, pending: [...stay, ...queue].map((entry, rank) => ({ ...entry, rank })) };
      },
    };
  };
}

const METAS = "the meta of each handle as it was given";
const GROUPS = "the meta and the fence of each of several holders";
const LEASES = "when each lease ends";
const SINCE = "since when each handle holds the lock or waits";
const RANKS = "the rank of each waiter";
const OWNERS = "the owner and the id of each handle";
const NAME = "query() with a name lists that lock alone";
const MATCH = "lists the names that the pattern fits";
const RUN = "lists the members of a run in every client";
const AGAIN = "lists a member of a run once when it waits";
const OVER = "lists no member of a run that is over";
const PAGES = "lists every lock that stays, on pages that end";

/** Stores with one fault each in what they list, by the behaviour that must find it. */
export const faultyListings: readonly (readonly [behaviour: string, fault: string, breakage: Breakage])[] = [
  [METAS, "no meta is kept", keeping((claim) => ({ ...claim, meta: undefined }))],
  [METAS, "waiters have none", waiters((entry) => ({ ...entry, meta: undefined }))],
  [METAS, "who has none gets that of the holder before", metaStays],
  [METAS, "a text ends at a NUL", keeping((claim) => ({ ...claim, meta: claim.meta?.replace(/\\u0000c/, "") }))],
  [METAS, "it is cut after 1,000 bytes", keeping((claim) => ({ ...claim, meta: claim.meta?.slice(0, 1_000) }))],
  [METAS, "holders have none", holders((entry) => ({ ...entry, meta: undefined }))],
  [METAS, "a renewal drops it", (right) => {
    const renewed = new Set<string>();
    return {
      renew: (claim) => {
        renewed.add(handleOf(claim));
        return right.renew(claim);
      },
      ...holders((entry) => renewed.has(entry.handle) ? { ...entry, meta: undefined } : entry)(right),
    };
  }],
  [GROUPS, "all holders have the meta of the first", likeTheFirst("meta")],
  [GROUPS, "all holders have the fence of the first", likeTheFirst("fence")],
  [GROUPS, "the fence is that of the next holder", holders((entry) => ({ ...entry, fence: entry.fence! + 1n }))],
  [LEASES, "it is not listed", holders(({ expiresIn: _, ...entry }) => entry)],
  [LEASES, "it is listed how long a lease is", holders((entry) => ({ ...entry, expiresIn: 60_000 }))],
  [LEASES, "it is listed in seconds", holders((entry) => ({ ...entry, expiresIn: entry.expiresIn! / 1_000 }))],
  [LEASES, "a renewal does not count", firstLease],
  [SINCE, "every call begins anew", sinceLastCall],
  [SINCE, "a holder holds since it began to wait", sinceFirstCall],
  [SINCE, "it is listed in seconds", holders((entry) => ({ ...entry, since: entry.since! / 1_000 }))],
  [SINCE, "it is listed for how long", waiters((entry) => ({ ...entry, since: Date.now() - entry.since! }))],
  [RANKS, "all are the first", waiters((entry) => ({ ...entry, rank: 0 }))],
  [RANKS, "the first one is number one", waiters((entry) => ({ ...entry, rank: entry.rank + 1 }))],
  [OWNERS, "the handle is the owner", holders((entry) => ({ ...entry, handle: entry.owner }))],
  [OWNERS, "the owner is the handle", holders((entry) => ({ ...entry, owner: entry.handle }))],
  [OWNERS, "waiters are listed by their owner", waiters((entry) => ({ ...entry, handle: entry.owner }))],
  [NAME, "all locks are listed", asking(({ name: _, ...options }) => options)],
  [NAME, "a name is a pattern", asking(({ name, ...options }) => ({ ...options, match: name }))],
  [NAME, "nothing is listed", asking((options) => ({ ...options, name: "nobody has it" }))],
  [MATCH, "all locks are listed", asking(({ match: _, ...options }) => options)],
  [MATCH, "case does not count", matching((match) => new RegExp(whole(match), "i"))],
  [MATCH, "a ? is any character", matching((match) => new RegExp(whole(match).replaceAll("\\?", "[^]")))],
  [MATCH, "* is no line break", matching((match) => new RegExp(whole(match, ".*")))],
  [MATCH, "* is one character at least", matching((match) => new RegExp(whole(match, "[^]+")))],
  [MATCH, "a part of the name is enough", matching((match) => new RegExp(whole(match).slice(1, -1)))],
  [
    RUN,
    "no member is listed",
    showing(({ held, pending }) => ({ held, pending: pending.filter((each) => !each.member) })),
  ],
  [RUN, "no entry says that it is a member", members(({ member: _, ...entry }) => entry)],
  [RUN, "every waiter is a member", waiters((entry) => ({ ...entry, member: true }))],
  [
    RUN,
    "members come last",
    showing(({ pending, ...rest }) => {
      const sorted = pending.toSorted((a, b) => Number(a.member ?? false) - Number(b.member ?? false));
      return { ...rest, pending: sorted.map((entry, rank) => ({ ...entry, rank })) };
    }),
  ],
  [RUN, "members have no meta", members((entry) => ({ ...entry, meta: undefined }))],
  [RUN, "members have the meta of another one", members((entry) => ({ ...entry, meta: { place: "0:" } }))],
  [RUN, "members wait since another moment", members((entry) => ({ ...entry, since: entry.since! + 1 }))],
  [AGAIN, "it is listed as a member as well", membersStay((held) => held)],
  [OVER, "members are listed under every later holder", membersStay((held) => held)],
  [OVER, "members are listed although nobody holds the lock", membersStay((held) => !held)],
  [PAGES, "there is one page", asking(({ limit: _, ...options }) => options)],
  [PAGES, "the first page comes again and again", asking(({ cursor: _, ...options }) => options)],
  [PAGES, "there is only the first page", showing(({ cursor: _, ...page }) => page)],
  [PAGES, "a lock is left out between two pages", skipping],
  [PAGES, "pages are counted", counting],
  [PAGES, "there is always another page", showing((page) => ({ cursor: "", ...page }))],
];
