import { assert, assertEquals } from "@std/assert";
import type { Attempt, Claim, Store } from "@holdfast/lock";
import { storeSuite } from "@holdfast/lock/testing";
import { SystemClock } from "../src/_clock.ts";
import { MemoryStore } from "../src/stores/_memory_store.ts";
import { until } from "./faults/until.ts";

/** What a store does wrong, over one that does it right. */
type Breakage = (right: MemoryStore) => Partial<Store>;

/** Stores with one fault each, by the behaviour that must find it. */
const broken: [behaviour: string, fault: string, breakage: Breakage][] = [
  ["grants a free lock and refuses a held one", "everybody is granted", everybodyIsGranted],
  ["grants a free lock and refuses a held one", "all names are one lock", (right) => ({
    attempt: (claim, options) => right.attempt({ ...claim, name: "one" }, options),
    release: (claim) => right.release({ ...claim, name: "one" }),
  })],
  ["grants a free lock and refuses a held one", "a refused owner is not told when to ask again", (right) => ({
    attempt: async (claim, options) => ({ ...await right.attempt(claim, options), retryAfter: 0 }),
  })],
  ["grants again what its owner holds", "an attempt is not idempotent", refusesItsHolder],
  ["grants again what its owner holds", "each grant needs a release of its own", (right) => {
    const grants = new Map<string, number>();
    return {
      attempt: async (claim, options) => {
        const attempt = await right.attempt(claim, options);
        if (attempt.granted) grants.set(claim.owner, (grants.get(claim.owner) ?? 0) + 1);
        return attempt;
      },
      release: async (claim) => {
        const left = (grants.get(claim.owner) ?? 0) - 1;
        grants.set(claim.owner, left);
        return left > 0 || await right.release(claim);
      },
    };
  }],
  ["grants again what its owner holds", "release() always finds something", (right) => ({
    release: (claim) => right.release(claim).then(() => true),
  })],
  ["grants again what its owner holds", "release() does nothing", () => ({ release: () => Promise.resolve(true) })],
  ["leaves nothing behind when it does not enqueue", "everybody queues", (right) => ({
    attempt: (claim) => right.attempt(claim, { enqueue: true }),
  })],
  ["renew() extends the lease", "renew() does nothing", () => ({ renew: () => Promise.resolve("renewed") })],
  ["renew() gives lost after the lease has ended", "renew() takes the lock again", (right) => ({
    renew: (claim) => right.attempt(claim, { enqueue: false }).then(() => "renewed"),
  })],
  ["by a stranger change nothing", "a stranger renews", () => ({ renew: () => Promise.resolve("renewed") })],
  ["by a stranger change nothing", "a stranger releases", (right) => {
    let holder: Claim | undefined;
    return {
      attempt: async (claim, options) => {
        const attempt = await right.attempt(claim, options);
        if (attempt.granted) holder = claim;
        return attempt;
      },
      release: (claim) => right.release({ ...claim, owner: holder?.owner ?? claim.owner }),
    };
  }],
  ["first come, first served", "last come, first served", lastFirst],
  ["aborted leaves no trace", "whoever gives up stays in the queue", (right) => {
    const held = new Set<string>();
    return {
      attempt: async (claim, options) => {
        const attempt = await right.attempt(claim, options);
        if (attempt.granted) held.add(claim.owner);
        return attempt;
      },
      release: async (claim) => !held.has(claim.owner) || await right.release(claim),
    };
  }],
  ["after its holder has died", "a lease never ends", (right) => ({
    attempt: (claim, options) => right.attempt({ ...claim, lease: 1_000 * claim.lease }, options),
  })],
  ["although a waiter ahead has died", "the dead are served", (right) => {
    let first: Claim | undefined;
    return {
      attempt: async (claim, options) => {
        if (first !== undefined) await right.attempt({ ...first, lease: 60_000 }, { enqueue: true });
        const attempt = await right.attempt(claim, options);
        if (!attempt.granted) first ??= claim;
        return attempt;
      },
    };
  }],
  ["never lets two clients in at once", "everybody is granted", everybodyIsGranted],
  ["fences rise", "the fence stands still", (right) => withFences(right, () => 1n)],
  ["fences rise", "the fence falls", (right) => {
    let fence = 1_000n;
    return withFences(right, () => fence--);
  }],
  ["fences rise", "the fence begins anew with the place", (right) => {
    let fence = 1n;
    return withFences(right, () => fence++);
  }],
  ["wakeup() resolves when its signal aborts", "nobody queues", (right) => ({
    attempt: (claim) => right.attempt(claim, { enqueue: false }),
  })],
  ["shared claims are granted together", "shared claims exclude one another", (right) => ({
    attempt: (claim, options) => right.attempt({ ...claim, mode: "exclusive" }, options),
  })],
  ["does not overtake a waiting exclusive one", "who shares goes past the queue", (right) => {
    const readers = (claim: Claim) => {
      return claim.mode === "exclusive" ? claim : { ...claim, owner: "readers", hold: `readers/${claim.owner}` };
    };
    return {
      attempt: (claim, options) => right.attempt(readers(claim), options),
      release: (claim) => right.release(readers(claim)),
      wakeup: (claim, signal) => right.wakeup(readers(claim), signal),
    };
  }],
  ["when the exclusive waiter ahead of it gives up", "nobody leaves the queue", () => ({
    release: () => Promise.resolve(false),
  })],
  ["each shared hold ends with its own lease", "every renewal succeeds", () => ({
    renew: () => Promise.resolve("renewed"),
  })],
  ["as many as there are permits", "there is one more", (right) => ({
    attempt: (claim, options) => right.attempt({ ...claim, permits: (claim.permits ?? 1) + 1 }, options),
  })],
  ["served in order, also when a holder has died", "a lease never ends", (right) => ({
    attempt: (claim, options) => right.attempt({ ...claim, lease: 1_000 * claim.lease }, options),
  })],
  ["another number of them is a conflict", "conflicts wait", conflictsWait],
  ["granted with the same fence", "every hold has a fence of its own", (right) => {
    let fence = 0n;
    return withFences(right, () => ++fence);
  }],
  ["does not make the lease shorter", "the last lease is that of all holds", (right) => {
    const claims: Claim[] = [];
    return {
      attempt: async (claim, options) => {
        const attempt = await right.attempt(claim, options);
        if (claim.hold === undefined) return attempt;
        claims.push(claim);
        for (const each of claims) await right.renew({ ...each, lease: claim.lease });
        return attempt;
      },
    };
  }],
  ["does not wait behind the queue", "every hold is an owner of its own", ownersApart],
  ["two handles that wait", "every hold is an owner of its own", ownersApart],
  ["is not entered again by its id", "every handle has a named owner", (right) => {
    const named = (claim: Claim) => ({ ...claim, hold: claim.hold ?? `${claim.owner}/${claim.owner}` });
    return {
      attempt: (claim, options) => right.attempt(named(claim), options),
      renew: (claim) => right.renew(named(claim)),
      release: (claim) => right.release(named(claim)),
    };
  }],
  ["never waits for itself", "conflicts wait", conflictsWait],
  ["ahead of the queue", "nobody steals", (right) => ({
    attempt: (claim, { enqueue }) => right.attempt(claim, { enqueue }),
  })],
  ["the holder hears of it", "everybody hears of it", () => ({ eviction: () => Promise.resolve() })],
  ["evict() frees a lock", "evict() does nothing", () => ({ evict: () => Promise.resolve(0) })],
  ["lists who holds and who waits", "the last waiter comes first", (right) => ({
    query: async () => {
      const { held, pending } = await right.query();
      return { held, pending: pending.toReversed() };
    },
  })],
];

Deno.test("storeSuite() passes a store that keeps the contract", async () => {
  const behaviours = behavioursOver(() => ({}));
  assert(behaviours.size >= 29, `${behaviours.size} behaviours`);
  await Promise.all([...behaviours.values()].map((run) => run()));
});

Deno.test("storeSuite() finds each fault of a store that breaks the contract", async () => {
  await Promise.all(broken.map(async ([behaviour, fault, breakage]) => {
    const found = [...behavioursOver(breakage)].filter(([name]) => name.includes(behaviour));
    assertEquals(found.length, 1, `one behaviour is ${behaviour}`);
    const error = await found[0]![1]().then(() => undefined, (error: unknown) => error);
    const told = error instanceof Error && /^expected: |^Cannot acquire lock/.test(error.message);
    assert(told, `"${behaviour}" must find that ${fault}: ${error}`);
  }));
});

Deno.test("storeSuite() has a fault to find for each of its behaviours", () => {
  for (const name of behavioursOver(() => ({})).keys()) {
    assert(broken.some(([behaviour]) => name.includes(behaviour)), name);
  }
});

/** The tests that the suite defines for a store in memory with one fault. */
function behavioursOver(breakage: Breakage): Map<string, () => Promise<void>> {
  const behaviours = new Map<string, () => Promise<void>>();
  storeSuite({
    test: (name, run) => behaviours.set(name, run),
    capabilities: ["shared", "permits", "owner", "steal"],
    open: () => {
      const held = new Set<string>();
      const right = new MemoryStore(undefined, new SystemClock());
      let store = storeOver(right, breakage, held);
      return {
        connect: () => store,
        leftovers: () => right.names,
        // The place remembers, and only what is wrong with it begins anew.
        restart: () => void (store = storeOver(right, breakage, held)),
        // A behaviour that fails leaves its locks behind; their timers must not outlive the test.
        close: () => until(() => Promise.resolve(held.size === 0), "no lock is held"),
      };
    },
  });
  return behaviours;
}

/** A store that does right but for the breakage, and notes which owners hold a lock. */
function storeOver(right: MemoryStore, breakage: Breakage, held: Set<string>): Store {
  return {
    attempt: (claim, options) => right.attempt(claim, options),
    renew: (claim) => right.renew(claim),
    release: (claim) => right.release(claim),
    wakeup: (claim, signal) => right.wakeup(claim, signal),
    capabilities: right.capabilities,
    eviction: (claim, signal) => right.eviction(claim, signal),
    evict: (name) => right.evict(name),
    query: () => right.query(),
    drift: right.drift,
    observer: ({ type, owner }) => {
      if (type === "acquired") held.add(owner);
      if (type === "released" || type === "lost") held.delete(owner);
    },
    ...breakage(right),
  };
}

function everybodyIsGranted(): Partial<Store> {
  let fence = 0n;
  return {
    attempt: () => Promise.resolve({ granted: true, fence: ++fence }),
    // So that a lock which nobody releases ends soon.
    drift: (lease) => lease - 50,
  };
}

function ownersApart(right: MemoryStore): Partial<Store> {
  const apart = (claim: Claim) => ({ ...claim, owner: claim.hold ?? claim.owner });
  return { attempt: (claim, options) => right.attempt(apart(claim), options) };
}

function conflictsWait(right: MemoryStore): Partial<Store> {
  return {
    attempt: async (claim, options) => {
      const attempt = await right.attempt(claim, options);
      return "conflict" in attempt ? { granted: false, retryAfter: 10 } : attempt;
    },
  };
}

function refusesItsHolder(right: MemoryStore): Partial<Store> {
  let holder: string | undefined;
  return {
    attempt: async (claim, options): Promise<Attempt> => {
      if (claim.owner === holder) return { granted: false, retryAfter: 10 };
      const attempt = await right.attempt(claim, options);
      if (attempt.granted) holder = claim.owner;
      return attempt;
    },
  };
}

function lastFirst(right: MemoryStore): Partial<Store> {
  const stack: string[] = [];
  const leave = (owner: string) => {
    const place = stack.indexOf(owner);
    if (place >= 0) stack.splice(place, 1);
    return place >= 0;
  };
  return {
    attempt: async (claim, options): Promise<Attempt> => {
      if (stack.length === 0 || stack.at(-1) === claim.owner) {
        const attempt = await right.attempt(claim, { enqueue: false });
        if (attempt.granted) leave(claim.owner);
        if (attempt.granted) return attempt;
      }
      if (options.enqueue && !stack.includes(claim.owner)) stack.push(claim.owner);
      return { granted: false, retryAfter: 5 };
    },
    release: async (claim) => leave(claim.owner) || await right.release(claim),
    wakeup: () => new Promise(() => {}),
  };
}

function withFences(right: MemoryStore, next: () => bigint): Partial<Store> {
  return {
    attempt: async (claim, options) => {
      const attempt = await right.attempt(claim, options);
      return attempt.granted ? { granted: true, fence: next() } : attempt;
    },
  };
}
