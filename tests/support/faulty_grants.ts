import { type Attempt, type Claim, type Granted, handleOf, type Store } from "../../src/contract/store.ts";
import type { MemoryStore } from "../../src/stores/memory/store.ts";

/** What a store does wrong, over one that does it right. */
export type Breakage = (right: MemoryStore) => Changes;

/** Methods in the place of the right ones, or `undefined` where there is to be none. */
export type Changes = { readonly [Member in keyof Store]?: Store[Member] | undefined };

/** Changes a grant before the client gets it. */
type Change = (grant: Granted, claim: Claim) => Granted | Promise<Granted>;

/** Returns a breakage that changes each grant; `ask` changes what the right store is asked for. */
function granting(change: Change, ask: (claim: Claim) => Claim = (claim) => claim): Breakage {
  return (right) => ({
    attempt: async (claim, options): Promise<Attempt> => {
      const attempt = await right.attempt(ask(claim), options);
      return attempt.granted ? await change(attempt, claim) : attempt;
    },
  });
}

/** Returns a breakage that changes the grants of several fences. */
function reserving(change: Change, ask?: (claim: Claim) => Claim): Breakage {
  return granting((grant, claim) => claim.fences === undefined ? grant : change(grant, claim), ask);
}

/** Returns a breakage that changes the grants of runs. */
function running(change: Change): Breakage {
  return granting((grant, claim) => grant.run?.length ? change(grant, claim) : grant);
}

const one = (claim: Claim): Claim => ({ ...claim, fences: undefined });

/** Returns the grant with a fence above those that the store has reserved. */
const ahead = (grant: Granted): Granted => ({ ...grant, fence: grant.fence + 9_000_000n });

/** Grants whatever the first handle of a name was granted to those that get it later, too. */
function likeTheFirst(): Breakage {
  return (right) => {
    const first = new Map<string, Granted>();
    return granting((grant, { name }) => {
      if (!first.has(name)) first.set(name, grant);
      return { ...grant, fence: first.get(name)!.fence };
    })(right);
  };
}

/** A handle that asks again is granted something else than at first. */
function again(change: (first: Granted) => Granted): Breakage {
  return (right) => {
    const first = new Map<string, Granted>();
    return granting((grant, { owner }) => {
      const known = first.get(owner);
      if (known !== undefined) return change(known);
      first.set(owner, grant);
      return grant;
    })(right);
  };
}

/** The members of a run are still in the queue. */
function membersStay(right: MemoryStore): Changes {
  const waiting: Claim[] = [];
  return {
    attempt: async (claim, options): Promise<Attempt> => {
      const attempt = await right.attempt({ ...claim, group: undefined }, options);
      const place = waiting.findIndex(({ owner }) => owner === claim.owner);
      if (attempt.granted && place >= 0) waiting.splice(place, 1);
      if (!attempt.granted && options.enqueue && place < 0) waiting.push(claim);
      if (!attempt.granted || claim.group === undefined) return attempt;
      const stop = waiting.findIndex(({ group }) => group !== claim.group);
      return { ...attempt, run: waiting.slice(0, stop < 0 ? waiting.length : stop).map(handleOf) };
    },
  };
}

/** Whoever waits and is of the group is taken along, also past others. */
function rivalsOvertaken(right: MemoryStore): Changes {
  const groups = new Map<string, string>();
  return {
    attempt: async (claim, options): Promise<Attempt> => {
      const { name, owner, group } = claim;
      if (group !== undefined) groups.set(owner, group);
      const attempt = await right.attempt({ ...claim, group: undefined }, options);
      if (!attempt.granted || group === undefined) return attempt;
      const { pending } = await right.query();
      const run = pending.filter((entry) => entry.name === name && groups.get(entry.owner) === group);
      for (const member of run) await right.release({ ...claim, owner: member.owner });
      return { ...attempt, run: run.map(({ owner }) => owner) };
    },
  };
}

/** All that wait without an owner are of one group. */
const oneGroup: Breakage = granting((grant) => grant, (claim) => ({ ...claim, group: "one" }));

/** Members of a run are taken for holders. */
function membersHold(changed: "renew" | "release"): Breakage {
  return (right) => {
    const members = new Set<string>();
    const { attempt } = running((grant) => {
      for (const member of grant.run!) members.add(member);
      return grant;
    })(right);
    if (changed === "renew") {
      return {
        attempt,
        renew: async (claim) => members.has(handleOf(claim)) ? "renewed" : await right.renew(claim),
      };
    }
    return { attempt, release: async (claim) => await right.release(claim) || members.has(handleOf(claim)) };
  };
}

/** Grants no fence where fewer than the wished ones are free. */
function allOrNone(grant: Granted, { fences = 1 }: Claim): Granted {
  return { ...grant, fences: grant.fences! < fences ? 0 : grant.fences };
}

const AHEAD = "reserves no fence over 10 ms ahead";
const OTHERS = "reserves no fence that others could have";
const RUN = "come next along: a run";

/** Stores with one fault each in how they grant several fences or runs, by the behaviour that must find it. */
export const faultyGrants: readonly (readonly [behaviour: string, fault: string, breakage: Breakage])[] = [
  ...([
    ["a block is below the last fence", reserving((grant) => ({ ...grant, fence: grant.fence - 9_000_000n }))],
    ["the counter is left below the block", reserving((grant, { fences = 1 }) => ahead({ ...grant, fences }), one)],
    ["there is one more than was wished", reserving((grant) => ({ ...grant, fences: grant.fences! + 1 }))],
    ["there is none", reserving((grant) => ({ ...grant, fences: 0 }))],
    ["those that wish nothing get several", granting((grant) => grant, (claim) => ({ fences: 5, ...defined(claim) }))],
    ["blocks begin anew with the place", (right) => {
      let last = 0n;
      return granting((grant) => {
        const fence = last + 1n;
        last += BigInt(grant.fences!);
        return { ...grant, fence };
      })(right);
    }],
  ] satisfies [string, Breakage][]).map(([fault, breakage]) => {
    return ["attempt() reserves several fences", fault, breakage] as const;
  }),
  ["above those of a dead holder", "the fences of the dead are granted again", likeTheFirst()],
  ["above those of a dead holder", "a waiter gets too many", reserving((grant) => ({ ...grant, fences: 99 }))],
  [AHEAD, "all that is wished is granted", reserving((grant, { fences }) => ({ ...grant, fences }), one)],
  [
    AHEAD,
    "fences are 2 s ahead",
    reserving((grant, { fences = 1 }) => ({ ...grant, fences: Math.min(fences, 2_000_000) }), one),
  ],
  [AHEAD, "there is none while the counter is ahead", reserving(allOrNone)],
  [OTHERS, "half of a block is granted twice", again((grant) => ({ ...grant, fence: grant.fence + 3n }))],
  [OTHERS, "the second block is not reserved", again(ahead)],
  ["fences above those of the holder", "a thief gets the fences of the holder", likeTheFirst()],
  [RUN, "nobody is taken along", granting((grant) => ({ ...grant, run: undefined }))],
  [RUN, "the last one comes first", running((grant) => ({ ...grant, run: grant.run!.toReversed() }))],
  [RUN, "the fences of a run are not reserved", running(ahead)],
  [RUN, "nobody ever waits", granting((grant) => ({ ...grant, contended: false }))],
  [RUN, "somebody always waits", granting((grant) => ({ ...grant, contended: true }))],
  ["ends a run at a waiter", "all are of one cohort", oneGroup],
  ["ends a run at a waiter", "rivals are overtaken", rivalsOvertaken],
  ["without a group takes nobody along", "all are of one cohort", oneGroup],
  ["brings it back to its former place", "its place is at the end of the queue", (right) => {
    return running(async (grant, claim) => {
      for (const owner of grant.run!) await right.release({ ...claim, owner });
      return grant;
    })(right);
  }],
  ["of a member of a run find nothing", "a member renews", membersHold("renew")],
  ["of a member of a run find nothing", "a member releases", membersHold("release")],
  ["of a member of a run find nothing", "the members are still in the queue", membersStay],
  ["takes nobody along twice", "the same run is granted again", again((first) => first)],
  ["the lease of a run has ended", "the lease of a run never ends", (right) => {
    return running(async (grant, claim) => {
      await right.renew({ ...claim, lease: 60_000 });
      return grant;
    })(right);
  }],
  ["the lease of a run has ended", "the fences of a run are not reserved", running(ahead)],
];

/** Returns the claim without what is undefined. */
function defined(claim: Claim): Claim {
  return JSON.parse(JSON.stringify(claim));
}
