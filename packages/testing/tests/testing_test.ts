// Deno only: it waits for what faulty stores never do, for longer than a test in another runtime may take.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { delay } from "@std/async";
import type { Attempt, Capability, Claim, Entry, Observer, Store } from "@holdfast/lock";
import type { Backend } from "@holdfast/lock/cas";
import { storeSuite } from "@holdfast/testing";
import { limits } from "../src/expect.ts";
import { SystemClock } from "../../../src/time/clock.ts";
import { entryOf } from "../../../src/internal/listing/query_options.ts";
import { parseDocument } from "../../../src/engine/document.ts";
import { CasStore } from "../../../src/engine/store.ts";
import { MemoryStore } from "../../../src/stores/memory/store.ts";
import { Documents } from "../../../tests/engine/memory_backend.ts";
import { type FaultyBackend, faultyBackends, inTurn } from "../../../tests/support/faulty_backends.ts";
import { type Breakage, type Changes, faultyGrants } from "../../../tests/support/faulty_grants.ts";
import { faultyListings, holders, keeping, showing } from "../../../tests/support/faulty_listings.ts";
import { until } from "../../../tests/support/until.ts";

const ownersApart = keeping((claim) => ({ ...claim, owner: claim.handle ?? claim.owner }));

const conflictsWait = answering((attempt) => "conflict" in attempt ? { granted: false, retryAfter: 10 } : attempt);

/** Stores with one fault each, by the behaviour that must find it. */
const broken: (readonly [behaviour: string, fault: string, breakage: Breakage])[] = [
  ...faultyGrants,
  ["grants a free lock and refuses a held one", "everybody is granted", everybodyIsGranted],
  ["grants a free lock and refuses a held one", "a refusal says that it is granted", grantsWith("retryAfter")],
  ["grants a free lock and refuses a held one", "all names are one lock", (right) => ({
    attempt: (claim, options) => right.attempt({ ...claim, name: "one" }, options),
    release: (claim) => right.release({ ...claim, name: "one" }),
  })],
  [
    "grants a free lock and refuses a held one",
    "a refused owner is not told when to ask again",
    answering((attempt) => {
      return { ...attempt, retryAfter: 0 };
    }),
  ],
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
  ["arrives after a later one", "renewals have no order", (right) => ({
    renew: (claim) => right.renew({ ...claim, renewal: undefined }),
  })],
  ["with atLeast leaves the lock", "a renewal that makes the lease shorter releases", (right) => ({
    renew: (claim) => claim.renewal === undefined ? right.renew(claim) : right.release(claim).then(() => "renewed"),
  })],
  ["with atLeast leaves the lock", "a shared lease is never made shorter", (right) => ({
    renew: (claim) => right.renew(claim.mode === "shared" ? { ...claim, lease: 600_000 } : claim),
  })],
  ["renew() gives lost after the lease has ended", "renew() takes the lock again", (right) => ({
    renew: (claim) => right.attempt(claim, { enqueue: false }).then(() => "renewed"),
  })],
  ["by a rival change nothing", "a rival renews", () => ({ renew: () => Promise.resolve("renewed") })],
  ["by a rival change nothing", "a rival is told that it is lost, and sets the lease", (right) => {
    return rivalsRenew(right, () => true);
  }],
  ["by a rival change nothing", "a rival makes the lease longer", (right) => {
    return rivalsRenew(right, ({ lease }) => lease >= 60_000);
  }],
  ["by a rival change nothing", "a waiter renews", (right) => ({
    renew: async (claim) => {
      const { pending } = await right.query();
      return pending.some(({ owner }) => owner === claim.owner) ? "renewed" : await right.renew(claim);
    },
  })],
  ["by a rival change nothing", "a rival releases", (right) => {
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
  ["only to the first of the queue", "there is no queue", (right) => ({
    attempt: (claim) => right.attempt(claim, { enqueue: false }),
  })],
  ["only to the first of the queue", "the queue is served at random", servesAtRandom],
  ["only to the first of the queue", "newcomers overtake", newcomersOvertake],
  ["only to the first of the queue", "release() drops the queue", (right) => ({
    release: async (claim) => {
      const given = await right.release(claim);
      const { held, pending } = await right.query();
      if (held.every(({ name }) => name !== claim.name)) {
        for (const each of pending) await right.release(claimOf(each));
      }
      return given;
    },
  })],
  ["only to the first of the queue", "a waiter that asks again goes to the end", (right) => ({
    attempt: async (claim, options) => {
      const attempt = await right.attempt(claim, options);
      if (attempt.granted || !options.enqueue) return attempt;
      await right.release(claim);
      return await right.attempt(claim, options);
    },
  })],
  ["past a waiter when a lease ends", "newcomers overtake", newcomersOvertake],
  ["release() leaves the queue", "a waiter that was released keeps its place", (right) => ({
    release: async (claim) => await waits(right, claim) || await right.release(claim),
  })],
  ["release() leaves the queue", "it does so once, and keeps the place", (right) => {
    const released = new Set<string>();
    return {
      release: async (claim) => {
        if (!await waits(right, claim)) return await right.release(claim);
        return released.size < released.add(claim.owner).size;
      },
    };
  }],
  ["release() leaves the queue", "a waiter that is released hears that it had nothing", (right) => ({
    release: async (claim) => !await waits(right, claim) && await right.release(claim),
  })],
  ["release() leaves the queue", "a waiter has a place for each time that it asked", (right) => {
    const asked = new Map<string, number>();
    return {
      attempt: (claim, options) => {
        asked.set(claim.owner, (asked.get(claim.owner) ?? 0) + 1);
        return right.attempt(claim, options);
      },
      release: async (claim) => {
        const times = asked.get(claim.owner) ?? 0;
        asked.set(claim.owner, times - 1);
        return await right.release(claim) || times > 0;
      },
    };
  }],
  ["no lease ends early", "leases last for 60 %", grantedFor((lease) => lease * 0.6)],
  ["no lease ends early", "leases end 100 ms early", grantedFor((lease) => lease - 100)],
  ["no lease ends early", "leases last for whole seconds", grantedFor(wholeSeconds)],
  ["no lease ends early", "leases last for 2 s at the most", grantedFor((lease) => Math.min(lease, 2_000))],
  ["no lease ends early", "renewed leases last for 60 %", (right) => ({
    renew: (claim) => right.renew({ ...claim, lease: claim.lease * 0.6 }),
  })],
  ["no lease ends early", "renewed leases last for whole seconds", (right) => ({
    renew: (claim) => right.renew({ ...claim, lease: wholeSeconds(claim.lease) }),
  })],
  [
    "no lease ends early",
    "shared leases last for 60 %",
    grantedFor((lease, { mode }) => mode === "shared" ? lease * 0.6 : lease),
  ],
  [
    "no lease ends early",
    "leases of permits last for 60 %",
    grantedFor((lease, { permits }) => permits === undefined ? lease : lease * 0.6),
  ],
  [
    "no lease ends early",
    "leases of a named owner last for 60 %",
    grantedFor((lease, { handle }) => handle === undefined ? lease : lease * 0.6),
  ],
  ["no lease ends early", "another attempt does not restore the lease", (right) => askedAgain(right, () => {})],
  ["no lease ends early", "another attempt makes the lease shorter", (right) => {
    return askedAgain(right, (claim) => right.renew({ ...claim, lease: claim.lease / 2, renewal: Infinity }));
  }],
  ["no lease ends early", "an attempt that comes late makes a renewed lease shorter", (right) => {
    return askedAgain(right, (claim) => right.renew({ ...claim, renewal: Infinity }));
  }],
  ["no lease ends early", "a waiter takes the lock after 3 s", (right) => {
    const asked = new Map<string, number>();
    return {
      attempt: (claim, options) => {
        const since = asked.get(claim.owner) ?? performance.now();
        if (options.enqueue) asked.set(claim.owner, since);
        return right.attempt(claim, { ...options, steal: performance.now() - since >= 3_000 });
      },
    };
  }],
  ["leaves time for clocks that drift apart", "there is no time for that", () => ({ drift: () => 0 })],
  ["leaves time for clocks that drift apart", "nothing is left of the lease", () => ({ drift: (lease) => lease })],
  ...Object.entries(
    {
      "case": (name) => name.toLowerCase(),
      "what comes after 64 characters": (name) => name.slice(0, 64),
      "what comes after 255 characters": (name) => name.slice(0, 255),
      "the last byte of the longest ones": (name) => name.slice(0, 1_023),
      "white space around them": (name) => name.trim(),
      "white space after them": (name) => name.trimEnd(),
      "how they are composed": (name) => name.normalize("NFC"),
      "how they are composed, and ligatures": (name) => name.normalize("NFKC"),
      "what comes after a NUL": (name) => name.replace(/\0.*$/s, ""),
      "NULs": (name) => name.replaceAll("\0", ""),
      "accents": (name) => name.normalize("NFD").replace(/\p{M}/gu, ""),
      "what is not ASCII": (name) => name.replace(/[^\0-\x7f]/g, "?"),
      "how paths are written": (name) => name.replace(/\/+/g, "/"),
      "what stands in braces": (name) => name.replace(/\{[^}]*\}/g, "{}"),
      "leading zeros": (name) => name.replace(/^0+(?=\d)/, ""),
      "percent-encoding": (name) => /%[0-9a-f]{2}/.test(name) ? decodeURIComponent(name) : name,
    } satisfies Record<string, (name: string) => string>,
  ).map(([what, fold]): typeof broken[number] => {
    const folded = asking((claim) => ({ ...claim, name: fold(claim.name) }));
    return ["each name is a lock of its own", `names are the same but for ${what}`, folded];
  }),
  ["each name is a lock of its own", "a release is of any name", (right) => ({
    release: async (claim) => {
      const { held } = await right.query();
      return await right.release({
        ...claim,
        name: held.find(({ owner }) => owner === claim.owner)?.name ?? claim.name,
      });
    },
  })],
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
  ["after its holder has died", "a lease never ends", grantedFor((lease) => 1_000 * lease)],
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
  ["serves the calls of one process in the order", "a later call comes first", laterCallsFirst],
  ["granted to each caller of one process in their order", "a later call comes first", laterCallsFirst],
  ["never lets two clients in at once", "everybody is granted", everybodyIsGranted],
  ["many callers of one client", "all callers are one owner", asking((claim) => ({ ...claim, owner: "client" }))],
  ["grants a name once", "everybody is granted", everybodyIsGranted],
  ["fences rise", "the fence stands still", withFences(() => 1n)],
  ["fences rise", "the fence falls", (right) => {
    let fence = 1_000n;
    return withFences(() => fence--)(right);
  }],
  ["fences rise", "the fence begins anew with the place", (right) => {
    let fence = 1n;
    return withFences(() => fence++)(right);
  }],
  ["wakeup() resolves when its signal aborts", "nobody queues", (right) => ({
    attempt: (claim) => right.attempt(claim, { enqueue: false }),
  })],
  ["wakeup() resolves when its signal aborts", "wakeup() waits for a wake-up only", () => ({
    wakeup: () => new Promise(() => {}),
  })],
  ["wakeup() resolves when its signal aborts", "wakeup() does not see that it has aborted before", (right) => ({
    wakeup: (claim, signal) => signal.aborted ? new Promise(() => {}) : right.wakeup(claim, signal),
  })],
  [
    "grants shared claims together",
    "shared claims exclude one another",
    keeping((claim) => {
      return { ...claim, mode: "exclusive" };
    }),
  ],
  ["does not overtake a waiting exclusive one", "who shares goes past the queue", (right) => {
    const readers = (claim: Claim) => {
      return claim.mode === "exclusive" ? claim : { ...claim, owner: "readers", handle: `readers/${claim.owner}` };
    };
    return {
      attempt: (claim, options) => right.attempt(readers(claim), options),
      release: (claim) => right.release(readers(claim)),
      wakeup: (claim, signal) => right.wakeup(readers(claim), signal),
    };
  }],
  ["when the exclusive waiter ahead of it leaves", "nobody leaves the queue", () => ({
    release: () => Promise.resolve(false),
  })],
  ["gives each shared handle its own lease", "every renewal succeeds", () => ({
    renew: () => Promise.resolve("renewed"),
  })],
  [
    "as many as there are permits",
    "there is one more",
    keeping((claim) => {
      return { ...claim, permits: (claim.permits ?? 1) + 1 };
    }),
  ],
  ["served in order, also when a holder has died", "a lease never ends", grantedFor((lease) => 1_000 * lease)],
  ["beside each kind of holder", "conflicts wait", conflictsWait],
  ["beside each kind of holder", "a conflict says that it is granted", grantsWith("conflict")],
  ["granted with the same fence", "every hold has a fence of its own", (right) => {
    let fence = 0n;
    return withFences(() => ++fence)(right);
  }],
  ["does not make the lease shorter", "the last lease is that of all holds", (right) => {
    const claims: Claim[] = [];
    return {
      attempt: async (claim, options) => {
        const attempt = await right.attempt(claim, options);
        if (claim.handle === undefined) return attempt;
        claims.push(claim);
        for (const each of claims) await right.renew({ ...each, lease: claim.lease });
        return attempt;
      },
    };
  }],
  ["does not wait behind the queue", "every hold is an owner of its own", ownersApart],
  ["two handles that wait", "every hold is an owner of its own", ownersApart],
  [
    "is not entered again by its id",
    "every handle has a named owner",
    asking((claim) => {
      return { ...claim, handle: claim.handle ?? `${claim.owner}/${claim.owner}` };
    }),
  ],
  ["never waits for itself", "conflicts wait", conflictsWait],
  ["nothing but shared handles", "a lock stays as exclusive as it was", staysExclusive],
  ["the leases of its exclusive handles have ended", "a lock stays as exclusive as it was", staysExclusive],
  ["goes with all handles of its owner", "a lock stays as exclusive as it was", staysExclusive],
  ["ahead of the queue", "nobody steals", (right) => ({
    attempt: (claim, { enqueue }) => right.attempt(claim, { enqueue }),
  })],
  ["ahead of the queue", "nobody steals from several", (right) => ({
    attempt: async (claim, { enqueue, steal }) => {
      const { held } = await right.query({ name: claim.name });
      return await right.attempt(claim, { enqueue, steal: steal && held.length < 2 });
    },
  })],
  ["of a handle that waits is granted", "nobody steals who queues", (right) => ({
    attempt: (claim, options) => right.attempt(claim, { ...options, steal: options.steal && !options.enqueue }),
  })],
  ["takes nothing from it", "every hold is an owner of its own", ownersApart],
  ["resolves after a steal from this handle", "everybody hears of it", () => ({ revocation: () => Promise.resolve() })],
  ["resolves after a steal from this handle", "revocation() waits for an eviction only", (right) => ({
    revocation: (claim) => right.revocation(claim, new AbortController().signal),
  })],
  ["evict() frees a lock", "evict() does nothing", () => ({ evict: () => Promise.resolve(0) })],
  ["and returns how many", "all holders count as one", (right) => ({
    evict: async (name) => Math.min(1, await right.evict(name)),
  })],
  ["and returns how many", "one of them keeps it", (right) => ({
    evict: async (name) => {
      const { held } = await right.query();
      const holders = held.filter((entry) => entry.name === name);
      for (const holder of holders.slice(1)) await right.release(claimOf(holder));
      return holders.length;
    },
  })],
  ...["leaves the lock to a later holder", "leaves the lock to other holders"].map(
    (behaviour): typeof broken[number] => {
      return [behaviour, "whoever holds it loses it", (right) => ({ evict: (name) => right.evict(name) })];
    },
  ),
  ["leaves the lock to a later holder", "the fence does not count", (right) => ({
    evict: (name, { handle } = {}) => right.evict(name, { handle }),
  })],
  ["leaves the lock to a later holder", "the handle does not count", (right) => ({
    evict: (name, { fence } = {}) => right.evict(name, { fence }),
  })],
  ["leaves the lock to a later holder", "nobody who is named loses it", (right) => ({
    evict: async (name, { handle, fence } = {}) => (handle ?? fence) === undefined ? await right.evict(name) : 0,
  })],
  ["leaves the lock to other holders", "the others lose it too", (right) => ({
    evict: async (name, options) => {
      const evicted = await right.evict(name, options);
      if (evicted > 0) await right.evict(name);
      return evicted;
    },
  })],
  [
    "lists names and kinds as they are",
    "names end at a NUL",
    holders((entry) => ({ ...entry, name: entry.name.replace(/\0.*$/s, "") })),
  ],
  ["lists names and kinds as they are", "all are exclusive", holders((entry) => ({ ...entry, mode: "exclusive" }))],
  ["lists names and kinds as they are", "nobody has permits", holders((entry) => ({ ...entry, permits: undefined }))],
  ["lists names and kinds as they are", "those whose leases have ended are listed", (right) => {
    const ever: Entry[] = [];
    return {
      attempt: (claim, options) => {
        ever.push(entryOf(claim));
        return right.attempt(claim, options);
      },
      query: async () => ({ held: ever, pending: (await right.query()).pending }),
    };
  }],
  [
    "lists holders and waiters",
    "the last waiter comes first",
    showing(({ held, pending }) => {
      return { held, pending: pending.toReversed() };
    }),
  ],
];

Deno.test("storeSuite() passes a store that keeps the contract", async () => {
  const behaviours = behavioursOver(() => ({}));
  assert(behaviours.size >= 29, `${behaviours.size} behaviours`);
  await Promise.all([...behaviours.values()].map((run) => run()));
});

Deno.test("storeSuite() finds each fault of a store that breaks the contract", () =>
  assertFound(broken, behavioursOver));

// By itself: what others measure at the same time would take longer.
Deno.test("storeSuite() finds each fault of a store in what it lists", () =>
  assertFound(faultyListings, behavioursOver));

Deno.test("storeSuite() passes a backend whose client makes one write after the other", async () => {
  const crowds = [...behavioursOfBackend(inTurn)].filter(([name]) => /grants a name once|many callers/.test(name));
  assertEquals(crowds.length, 2);
  for (const [, run] of crowds) await run();
});

/** How often a fault may escape because the machine is busy. */
const TRIES = 3;

/** Checks that each fault is found by the behaviour that must find it. */
async function assertFound<Faulty>(
  faults: readonly (readonly [behaviour: string, fault: string, faulty: Faulty])[],
  behavioursOf: (faulty: Faulty) => Map<string, () => Promise<void>>,
): Promise<void> {
  // Many of the faults are found when a behaviour has waited that long. A store that keeps the contract has more time.
  const { hang } = limits;
  limits.hang = 5_000;
  const escaped = await Promise.all(faults.map(async ([behaviour, fault, faulty]) => {
    const found = [...behavioursOf(faulty)].filter(([name]) => name.includes(behaviour));
    assertEquals(found.length, 1, `one behaviour is ${behaviour}`);
    let error: unknown;
    for (let tries = 0; error === undefined && tries < TRIES; tries++) {
      await found[0]![1]().catch((each) => error = each);
    }
    const told = error instanceof Error && /^expected: |^Cannot acquire lock|^Lost lock/.test(error.message);
    return told ? [] : [`"${behaviour}" must find that ${fault}: ${error}`];
  }));
  // So long the waiters may wait that a failed behaviour has left.
  await delay(limits.hang);
  limits.hang = hang;
  assertEquals(escaped.flat(), []);
}

Deno.test("storeSuite() finds an undeclared method, and a declared one that is missing", async () => {
  const faults: [readonly Capability[], Changes][] = [
    [["shared", "permits", "owner", "steal", "evict"], {}],
    [ALL, { evict: undefined }],
  ];
  for (const [capabilities, fault] of faults) {
    const [run] = behavioursOver(() => ({ capabilities, ...fault }), capabilities).values();
    await assertRejects(run!, Error, "if it has");
  }
});

Deno.test("storeSuite() tests only what a store declares: owners without shared or permits", async () => {
  const refused = ({ mode, permits }: Claim) => mode === "shared" || permits !== undefined;
  const owners = behavioursOver((right) => ({
    capabilities: ["owner"],
    evict: undefined,
    query: undefined,
    attempt: (claim, options) => {
      if (refused(claim)) throw new TypeError("not declared");
      return right.attempt(claim, options);
    },
  }), ["owner"]);
  const names = [...owners.keys()].filter((name) => name.includes("owner"));
  assert(names.length >= 4, `${names}`);
  await Promise.all([...owners.values()].map((run) => run()));
});

Deno.test("storeSuite() passes a store that refused somebody after a release that was slow", async () => {
  const behaviours = [...behavioursOver(slowToRelease)];
  for (const behaviour of ["refuses a held one", "each name is a lock of its own"]) {
    const [found] = behaviours.filter(([name]) => name.includes(behaviour));
    await found![1]();
  }
});

Deno.test("storeSuite() tries again when a store had no answer in time", async () => {
  const behaviours = [...behavioursOver(losesAnAnswer)].filter(([name]) => name.includes("by a rival change nothing"));
  assertEquals(behaviours.length, 1);
  for (const [, run] of behaviours) await run();
});

Deno.test("storeSuite() has a fault to find for each of its behaviours", () => {
  for (const name of behavioursOver(() => ({})).keys()) {
    assert([...broken, ...faultyListings].some(([behaviour]) => name.includes(behaviour)), name);
  }
});

/** The answer to the first renewal of a holder comes too late, as an engine says it. */
function losesAnAnswer(right: MemoryStore): Partial<Store> {
  let lost = false;
  return {
    renew: async (claim) => {
      const renewed = await right.renew(claim);
      if (lost || renewed === "lost") return renewed;
      lost = true;
      throw new Error("no answer to a write within 67 ms");
    },
  };
}

/** The first release is slow, and somebody else is refused once after it, as by a server that has not answered. */
function slowToRelease(right: MemoryStore): Partial<Store> {
  let released: Claim | undefined;
  let slow = true;
  return {
    attempt: async (claim, options) => {
      const attempt = await right.attempt(claim, options);
      if (released !== undefined) await right.release(released);
      released = undefined;
      return attempt;
    },
    release: async (claim) => {
      if (!slow || claim.name === "another") return await right.release(claim);
      slow = false;
      await delay(20);
      released = claim;
      return true;
    },
  };
}

/** Whatever an owner asks for after it held a lock exclusively is exclusive, too. */
function staysExclusive(right: MemoryStore): Partial<Store> {
  const exclusive = new Set<string>();
  const narrowed = (claim: Claim): Claim => {
    return exclusive.has(claim.owner) ? { ...claim, mode: "exclusive", permits: undefined } : claim;
  };
  return {
    attempt: async (claim, options) => {
      const attempt = await right.attempt(narrowed(claim), options);
      const alone = claim.handle !== undefined && claim.mode === "exclusive" && claim.permits === undefined;
      if (alone && attempt.granted) exclusive.add(claim.owner);
      return attempt;
    },
  };
}

/** The claim of somebody who is listed. */
function claimOf({ name, owner, mode, permits }: Entry): Claim {
  return { name, owner, mode, permits, lease: 60_000 };
}

const ALL: readonly Capability[] = ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"];

/** The tests that the suite defines for a store in memory with one fault. */
function behavioursOver(
  breakage: Breakage,
  capabilities: readonly Capability[] = ALL,
): Map<string, () => Promise<void>> {
  const behaviours = new Map<string, () => Promise<void>>();
  storeSuite({
    test: (name, run) => behaviours.set(name, run),
    capabilities,
    open: () => {
      const active = new Set<string>();
      const right = new MemoryStore(undefined, new SystemClock());
      let store = storeOver(right, breakage, active);
      return {
        connect: () => store,
        leftovers: () => right.names,
        // The place remembers, and only what is wrong with it begins anew.
        restart: () => void (store = storeOver(right, breakage, active)),
        // A behaviour that fails leaves locks and waiters behind, which end by themselves. Their timers must not
        // outlive the test.
        close: () => until(() => active.size === 0, "nobody holds a lock or waits", 60_000),
      };
    },
  });
  return behaviours;
}

/** The tests that the suite defines for the engine on a backend, of which each client has one. */
function behavioursOfBackend(backend: FaultyBackend): Map<string, () => Promise<void>> {
  const behaviours = new Map<string, () => Promise<void>>();
  storeSuite({
    test: (name, run) => behaviours.set(name, run),
    capabilities: ALL,
    open: () => {
      const documents = new Documents();
      const active = new Set<string>();
      const settings = { maxClockSkew: 10_000, observer: noting(active) };
      return {
        connect: () => new CasStore(backend(documents) as Backend, settings, new SystemClock()),
        leftovers: () =>
          [...documents.texts].filter(([name, { value }]) => !parseDocument(name, value).unused).map(([name]) => name),
        close: () => until(() => active.size === 0, "nobody holds a lock or waits", 60_000),
      };
    },
  });
  return behaviours;
}

/** Returns an observer that notes who waits for a lock or holds one. */
function noting(active: Set<string>): Observer {
  return ({ type, owner }) => {
    if (type === "waiting" || type === "acquired") active.add(owner);
    if (type === "gave_up" || type === "released" || type === "lost") active.delete(owner);
  };
}

/** A store that does right but for the breakage, and notes which owners wait for a lock or hold one. */
function storeOver(right: MemoryStore, breakage: Breakage, active: Set<string>): Store {
  const store = {
    attempt: (claim, options) => right.attempt(claim, options),
    renew: (claim) => right.renew(claim),
    release: (claim) => right.release(claim),
    wakeup: (claim, signal) => right.wakeup(claim, signal),
    forget: (claim) => right.forget(claim),
    capabilities: right.capabilities,
    revocation: (claim, signal) => right.revocation(claim, signal),
    evict: (name, options) => right.evict(name, options),
    query: (options) => right.query(options),
    drift: right.drift,
    observer: ({ type, owner }) => {
      if (type === "waiting" || type === "acquired") active.add(owner);
      if (type === "released" || type === "lost") active.delete(owner);
    },
    ...breakage(right),
  } as Store;
  const release = store.release.bind(store);
  return Object.assign(store, {
    release: (claim: Claim) => {
      active.delete(claim.owner); // A wait that ends without the lock ends so.
      return release(claim);
    },
  });
}

/** Executes attempts that are made at the same time in the opposite order. */
function laterCallsFirst(right: Store): Partial<Store> {
  let asked: (() => void)[] = [];
  return {
    attempt: (claim, options) => {
      return new Promise((resolve) => {
        if (asked.length === 0) {
          setTimeout(() => {
            for (const execute of asked.reverse()) execute();
            asked = [];
          }, 0);
        }
        asked.push(() => resolve(right.attempt(claim, options)));
      });
    },
  };
}

function everybodyIsGranted(): Partial<Store> {
  let fence = 0n;
  return {
    attempt: () => Promise.resolve({ granted: true, fence: ++fence }),
    // So that a lock which nobody releases ends soon.
    drift: (lease) => lease - 1_000,
  };
}

/** Refusals of one kind say that they are granted. */
function grantsWith(field: "conflict" | "retryAfter"): Breakage {
  return answering((attempt) => field in attempt ? { ...attempt, granted: true } as unknown as Attempt : attempt);
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

function withFences(next: () => bigint): Breakage {
  return answering((attempt) => attempt.granted ? { granted: true, fence: next() } : attempt);
}

/** A store whose leases are not as long as they were asked for. */
function grantedFor(length: (lease: number, claim: Claim) => number): Breakage {
  return keeping((claim) => ({ ...claim, lease: length(claim.lease, claim) }));
}

function wholeSeconds(lease: number): number {
  return Math.max(1, Math.floor(lease / 1_000)) * 1_000;
}

/** A store that does something else when its holder asks again. */
function askedAgain(right: MemoryStore, instead: (claim: Claim) => unknown): Partial<Store> {
  return {
    attempt: async (claim, options) => {
      const { held } = await right.query();
      if (!held.some(({ name, owner }) => name === claim.name && owner === claim.owner)) {
        return await right.attempt(claim, options);
      }
      await instead(claim);
      return { granted: true, fence: 1n };
    },
  };
}

/** A store in which rivals set the lease, but are told that they do not hold the lock. */
function rivalsRenew(right: MemoryStore, which: (rival: Claim) => boolean): Partial<Store> {
  return {
    renew: async (claim) => {
      const { held } = await right.query();
      const holder = held.find(({ name }) => name === claim.name);
      if (holder !== undefined && holder.owner !== claim.owner && which(claim)) {
        await right.renew({ ...claim, owner: holder.owner });
      }
      return await right.renew(claim);
    },
  };
}

async function waits(right: MemoryStore, claim: Claim): Promise<boolean> {
  const { pending } = await right.query();
  return pending.some(({ name, owner }) => name === claim.name && owner === claim.owner);
}

/** A store in which whoever does not queue takes a free lock, also one for which others wait. */
function newcomersOvertake(right: MemoryStore): Partial<Store> {
  return {
    attempt: async (claim, options) => {
      const { held } = await right.query();
      const free = held.every(({ name }) => name !== claim.name);
      return await right.attempt(claim, { ...options, steal: !options.enqueue && free });
    },
  };
}

/** A store in which any of the waiters is next, but always the same one until that has the lock. */
function servesAtRandom(right: MemoryStore): Partial<Store> {
  let next: string | undefined;
  return {
    attempt: async (claim, options) => {
      const { held, pending } = await right.query();
      if (held.some(({ name }) => name === claim.name)) return await right.attempt(claim, options);
      const waiters = pending.filter(({ name }) => name === claim.name);
      next ??= waiters[Math.floor(Math.random() * waiters.length)]?.owner;
      if (next !== undefined && next !== claim.owner) return { granted: false, retryAfter: 5 };
      next = undefined;
      return await right.attempt(claim, { ...options, steal: true });
    },
  };
}

/** Returns a breakage that changes each claim. */
function asking(change: (claim: Claim) => Claim): Breakage {
  return (right) => ({
    attempt: (claim, options) => right.attempt(change(claim), options),
    renew: (claim) => right.renew(change(claim)),
    release: (claim) => right.release(change(claim)),
  });
}

/** Returns a breakage that changes the answers to attempts. */
function answering(change: (attempt: Attempt) => Attempt): Breakage {
  return (right) => ({ attempt: async (claim, options) => change(await right.attempt(claim, options)) });
}

// The last one: what a broken backend goes on refusing is repeated for up to 10 s, and nobody waits for that.
Deno.test({
  name: "storeSuite() finds each fault of a backend that breaks its contract",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () => assertFound(faultyBackends, behavioursOfBackend),
});
