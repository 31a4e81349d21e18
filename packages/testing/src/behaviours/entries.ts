import type { Capability, Claim, Entry, HolderEntry, Store } from "@holdfast/lock";
import { handleOf } from "@holdfast/lock/authors";
import { elapsed, type Instant } from "../clock.ts";
import { owned, permit, QUEUE, share, TRY } from "../claims.ts";
import {
  busy,
  check,
  checkInTime,
  claimOf,
  clock,
  granted,
  judge,
  LONG_MS,
  slowestOf,
  type Span,
  timed,
  tooSlow,
  until,
} from "../expect.ts";
import type { Behaviours } from "../fixture.ts";

/** The tolerance between a listed and a measured time, in milliseconds. */
const TOLERANCE_MS = 20;

/** The distance between events, so that their times differ, in milliseconds. */
const APART_MS = 200;

/** The range of plausible milliseconds since the Unix epoch, from 2017 to 2128; a number of seconds is outside. */
const EPOCH_MS: readonly [number, number] = [1.5e12, 5e12];

/** Texts of meta that a store may spoil, one of the largest length, and no meta. */
const METAS: readonly (string | undefined)[] = [
  undefined,
  `{"host":"web-1","pid":"4711"}`,
  JSON.stringify({
    "": "",
    "7": "0",
    " a": "b ",
    quotes: `"'\\`,
    lines: "a\r\nb\0c",
    text: "é \u{1f512} % $1 {} [] :",
  }),
  JSON.stringify({ longest: "x".repeat(1_024 - `{"longest":""}`.length) }),
];

/** The behaviours of each entry of a listing. */
export const entries: Behaviours = {
  async "query() lists the meta of each handle as it was given, and none where none was"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    for (const [place, meta] of METAS.entries()) {
      await judge(async (suffix) => {
        const name = `meta ${place}, ${suffix}`;
        const holder = { ...claimOf(name, LONG_MS), meta };
        // A handle without meta must not get the meta of an earlier handle.
        const waiter = { ...claimOf(name, LONG_MS), meta: METAS[(place + 1) % METAS.length] };
        try {
          // Repeated calls change nothing.
          for (let tries = 0; tries < 2; tries++) {
            granted(await a.attempt(holder, TRY));
            const seen = clock.now();
            busy(await b.attempt(waiter, QUEUE));
            check(await a.renew(holder) === "renewed", "renewed");
            await checkMeta(b, [holder], [waiter], seen);
          }
          await a.release(holder);
          await until("the waiter is granted the lock", async () => (await b.attempt(waiter, QUEUE)).granted);
          await checkMeta(a, [waiter], [], clock.now());
        } finally {
          await b.release(waiter);
          await a.release(holder);
        }
      });
    }
  },

  async "query() lists the meta and the fence of each of several holders"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    for (const group of groupsOf(a.capabilities)) {
      const holders = group.map((claim) => ({ ...claim, meta: JSON.stringify({ handle: handleOf(claim) }) }));
      const fences = new Map<string, bigint>();
      for (const holder of holders) fences.set(handleOf(holder), granted(await a.attempt(holder, TRY)));
      await checkMeta(b, holders, [], clock.now());
      for (const { handle, fence } of await heldOf(b, holders[0]!.name)) {
        check(fence === undefined || fence === fences.get(handle), `the fence that was granted: ${fence}`);
      }
      for (const holder of holders) await a.release(holder);
    }
  },

  async "query() lists when each lease ends: it falls, and a renewal sets it anew"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    for (const [first, second] of groupsOf(a.capabilities)) {
      const shorter = second === undefined ? [] : [{ ...second, lease: LONG_MS / 2 }];
      await judge(async (name) => {
        const holders = [first!, ...shorter].map((claim) => ({ ...claim, name: `${name} ${claim.name}` }));
        const calls: Span[] = [];
        try {
          for (const holder of holders) {
            const grant = await timed(() => a.attempt(holder, TRY));
            calls.push(grant);
            await checkExpiry(b, holder, grant, calls);
            await clock.sleep(APART_MS);
            await checkExpiry(b, holder, grant, calls);
            const longer = { ...holder, lease: 2 * holder.lease, renewal: 1 };
            const renewal = await timed(() => a.renew(longer));
            calls.push(renewal);
            await checkExpiry(b, longer, renewal, calls);
          }
        } finally {
          for (const holder of holders) await a.release(holder);
        }
      });
    }
  },

  async "query() lists since when each handle holds the lock or waits for it"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    await judge(async (name) => {
      const [holder, waiter] = [claimOf(name, LONG_MS), claimOf(name, LONG_MS)];
      try {
        const held = await timed(() => a.attempt(holder, TRY));
        await clock.sleep(APART_MS);
        const queued = await timed(() => b.attempt(waiter, QUEUE));
        await clock.sleep(APART_MS / 2);
        // A renewal changes nothing, nor does a waiter that asks again.
        check(await a.renew(holder) === "renewed", "renewed");
        busy(await b.attempt(waiter, QUEUE));
        const first = await sinceOf(b, holder, queued.sent);
        checkApart(first, await sinceOf(a, waiter, queued.sent), held, queued);
        const sent = clock.now();
        await a.release(holder);
        await until("the waiter is granted the lock", async () => (await b.attempt(waiter, QUEUE)).granted);
        checkApart(first, await sinceOf(a, waiter, sent), held, { sent, answered: clock.now() });
      } finally {
        await b.release(waiter);
        await a.release(holder);
      }
    });
  },

  async "query() lists the rank of each waiter: how many are ahead of it"(fixture) {
    const stores = [await fixture.connect(), await fixture.connect(), await fixture.connect(), await fixture.connect()];
    await judge(async (name) => {
      const [holder, ...waiters] = stores.map(() => claimOf(name, LONG_MS));
      const checkRanks = async (expected: readonly Claim[], seen: Instant) => {
        const { pending } = await stores[0]!.query!({ name });
        const ranks = pending.map(({ handle, rank }) => `${rank} ${handle}`);
        const wanted = expected.map((claim, rank) => `${rank} ${handleOf(claim)}`);
        checkInTime(ranks.join() === wanted.join(), `the ranks of those that wait: ${ranks}`, seen);
      };
      try {
        granted(await stores[0]!.attempt(holder!, TRY));
        const seen = clock.now();
        for (const [i, waiter] of waiters.entries()) busy(await stores[i + 1]!.attempt(waiter, QUEUE));
        await checkRanks(waiters, seen);
        checkInTime(await stores[1]!.release(waiters[0]!), "the first one leaves", seen);
        await checkRanks(waiters.slice(1), seen);
      } finally {
        for (const [i, waiter] of waiters.entries()) await stores[i + 1]!.release(waiter);
        await stores[0]!.release(holder!);
      }
    });
  },
};

/** More behaviours of the entries of a store that supports owners. */
export const ownerEntries: Behaviours = {
  async "query() lists the owner and the id of each handle"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    await judge(async (name) => {
      const [one, two, other, alone] = [
        owned(name, "me"),
        owned(name, "me"),
        owned(name, "you"),
        claimOf(name, LONG_MS),
      ];
      const line = ({ owner, handle }: Entry) => `${owner} ${handle}`;
      const lineOf = (claim: Claim) => `${claim.owner} ${handleOf(claim)}`;
      try {
        for (const claim of [one, two]) granted(await a.attempt(claim, TRY));
        const seen = clock.now();
        for (const claim of [other, alone]) busy(await b.attempt(claim, QUEUE));
        const { held, pending } = await b.query!({ name });
        const holders = held.map(line).sort();
        check(holders.join() === [one, two].map(lineOf).sort().join(), `those that hold it: ${holders}`);
        const waiters = pending.map(line);
        checkInTime(waiters.join() === [other, alone].map(lineOf).join(), `those that wait: ${waiters}`, seen);
      } finally {
        for (const claim of [alone, other]) await b.release(claim);
        for (const claim of [one, two]) await a.release(claim);
      }
    });
  },
};

/** Returns handles of each kind of a store that can hold the lock of their name together. */
function groupsOf(capabilities: readonly Capability[] = []): Claim[][] {
  const groups = [[claimOf("exclusive", LONG_MS)]];
  if (capabilities.includes("shared")) groups.push([share("shared"), share("shared")]);
  if (capabilities.includes("permits")) groups.push([permit("permits", 2), permit("permits", 2)]);
  if (capabilities.includes("owner")) groups.push([owned("owner", "me"), owned("owner", "me")]);
  return groups;
}

async function heldOf(store: Store, name: string): Promise<readonly HolderEntry[]> {
  const { held } = await store.query!({ name });
  return held.filter((entry) => entry.name === name);
}

/** Checks that the holders and the waiters of a lock are listed with their meta. The waiters were alive at `seen`. */
async function checkMeta(
  store: Store,
  holders: readonly Claim[],
  waiters: readonly Claim[],
  seen: Instant,
): Promise<void> {
  const { name } = holders[0]!;
  const { held, pending } = await store.query!({ name });
  const lines = (all: readonly Entry[]) => all.map(({ handle, meta }) => `${handle} ${sorted(meta)}`).sort().join();
  const wanted = (all: readonly Claim[]) => {
    return all.map((claim) => `${handleOf(claim)} ${sorted(claim.meta && JSON.parse(claim.meta))}`).sort().join();
  };
  check(lines(held) === wanted(holders), `the meta of those that hold ${JSON.stringify(name)}: ${lines(held)}`);
  checkInTime(lines(pending) === wanted(waiters), `the meta of those that wait: ${lines(pending)}`, seen);
}

/** Returns a record as a text that does not depend on the order of its keys. */
function sorted(meta: unknown): string {
  if (typeof meta !== "object" || meta === null) return String(meta);
  return JSON.stringify(Object.entries(meta).sort(([a], [b]) => a < b ? -1 : 1));
}

/**
 * Checks the listed end of a lease that was granted or renewed in that time. A store that learns the time from a server
 * knows it only as exactly as an answer was quick, the answer to this call or to an earlier call.
 */
async function checkExpiry(store: Store, claim: Claim, begun: Span, calls: readonly Span[]): Promise<void> {
  const sent = clock.now();
  const found = (await heldOf(store, claim.name)).find(({ handle }) => handle === handleOf(claim));
  const answered = clock.now();
  check(found?.expiresIn !== undefined, `it is listed when the lease ends: ${claim.name}`);
  const slowest = slowestOf(calls);
  const most = claim.lease - elapsed(begun.answered, sent) + slowest + TOLERANCE_MS;
  const least = claim.lease - elapsed(begun.sent, answered) - TOLERANCE_MS;
  const within = found.expiresIn >= least && found.expiresIn <= most;
  // Other requests of the store, which tell it the time as well, took as long.
  if (!within && slowest + elapsed(sent, answered) > TOLERANCE_MS) tooSlow();
  check(within, `the lease ends in ${least} to ${most} ms: ${found.expiresIn}`);
}

/** Returns since when a handle holds the lock or waits, if the store tells. The handle was alive at `seen`. */
async function sinceOf(store: Store, claim: Claim, seen: Instant): Promise<number | undefined> {
  const { held, pending } = await store.query!({ name: claim.name });
  const entry = [...held, ...pending].find(({ handle }) => handle === handleOf(claim));
  checkInTime(entry !== undefined, "it is listed", seen);
  const { since } = entry;
  const [least, most] = EPOCH_MS;
  check(since === undefined || since > least && since < most, `milliseconds since the Unix epoch: ${since}`);
  return since;
}

/** Checks that two listed moments, in whole milliseconds, are as far apart as their calls. */
function checkApart(one: number | undefined, other: number | undefined, first: Span, second: Span): void {
  if (one === undefined || other === undefined) return;
  const least = Math.floor(elapsed(first.answered, second.sent)) - TOLERANCE_MS;
  const most = Math.ceil(elapsed(first.sent, second.answered)) + TOLERANCE_MS;
  const within = other - one >= least && other - one <= most;
  // A store that is told the time by a server knows it no better than its answers were quick.
  if (!within && slowestOf([first, second]) > TOLERANCE_MS) tooSlow();
  check(within, `${least} to ${most} ms later: ${other - one}`);
}
