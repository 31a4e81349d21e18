import type { Attempt, AttemptOptions, Claim, Store } from "../../../src/contract/store.ts";
import type { Connection } from "./connection.ts";
import type { HandoffName } from "./scenario.ts";

/** Plants a bug in a connection. */
export type Flaw = (connection: Connection) => void;

/** What replaces a method of a connection. */
type Change = (connection: Connection) => Partial<Store>;

/** Returns a flaw: a connection with other methods. */
function flaw(change: Change): Flaw {
  return (connection) => void Object.assign(connection, change(bound(connection)));
}

/** Returns the methods of a connection as they are now. */
function bound(connection: Connection): Connection {
  const { attempt, release, renew, wakeup } = connection;
  return Object.assign(Object.create(connection), {
    attempt: attempt.bind(connection),
    release: release.bind(connection),
    renew: renew.bind(connection),
    wakeup: wakeup.bind(connection),
  });
}

/** Answers attempts in another way. */
function answering(
  change: (attempt: Attempt, claim: Claim, options: AttemptOptions) => Attempt | Promise<Attempt>,
): Flaw {
  return flaw((connection) => ({
    attempt: async (claim, options) => await change(await connection.attempt(claim, options), claim, options),
  }));
}

/** A bug, the rules that it breaks, and how the process hands locks on, by default not at all. */
type FlawCase = readonly [flaw: string, rules: readonly string[], make: Flaw, handoff?: HandoffName];

/** Bugs that the judge must notice. */
export const FLAWS: readonly FlawCase[] = [
  ["hands the last grant to whoever asks", ["two holders in one process", "fence fell or repeated"], (connection) => {
    const last = new Map<string, Attempt>();
    let attempts = 0;
    return answering((attempt, { name, handle, mode }) => {
      if (handle !== undefined || mode === "shared") return attempt;
      if (attempt.granted) last.set(name, attempt);
      return ++attempts % 4 === 0 ? last.get(name) ?? attempt : attempt;
    })(connection);
  }],
  [
    "makes fences up",
    ["fence never reserved"],
    answering((attempt) => {
      return attempt.granted ? { ...attempt, fence: attempt.fence + 1_000_000_000n } : attempt;
    }),
  ],
  [
    "leaves what it has given up in the queue",
    ["left behind"],
    flaw((connection) => {
      const granted = new Set<string>();
      return {
        attempt: async (claim, options) => {
          const attempt = await connection.attempt(claim, options);
          if (attempt.granted) granted.add(claim.handle ?? claim.owner);
          return attempt;
        },
        release: (claim) =>
          granted.has(claim.handle ?? claim.owner) ? connection.release(claim) : Promise.resolve(true),
      };
    }),
  ],
  ["neither wakes its waiters nor has them poll", ["idle while somebody waits", "asleep at the end"], (connection) => {
    connection.wakeup = (_, signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
    return answering((attempt) => "retryAfter" in attempt ? { ...attempt, retryAfter: 60_000 } : attempt)(connection);
  }],
  [
    "lets waiters sleep when it is closed",
    ["asleep after a close"],
    flaw((connection) => ({
      wakeup: (claim, signal) => {
        const open = connection.wakeup(claim, signal);
        return open.then(() =>
          connection.closed ? new Promise((resolve) => signal.addEventListener("abort", () => resolve())) : undefined
        );
      },
      attempt: async (claim, options) => {
        const attempt = await connection.attempt(claim, options);
        return "retryAfter" in attempt ? { ...attempt, retryAfter: 10_000 } : attempt;
      },
    })),
  ],
  [
    "serves the last one first",
    ["overtaken"],
    flaw((connection) => {
      const waiting: string[] = [];
      return {
        attempt: async (claim, options) => {
          const id = claim.handle ?? claim.owner;
          if (options.enqueue && !waiting.includes(id)) waiting.push(id);
          // The others do not ask while there is one that came later.
          if (waiting.includes(id) && waiting.at(-1) !== id) return { granted: false, retryAfter: 50 };
          const attempt = await connection.attempt(claim, options);
          if (attempt.granted && waiting.includes(id)) waiting.splice(waiting.indexOf(id), 1);
          return attempt;
        },
        release: (claim) => {
          const place = waiting.indexOf(claim.handle ?? claim.owner);
          if (place >= 0) waiting.splice(place, 1);
          return connection.release(claim);
        },
        wakeup: (_, signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve())),
      };
    }),
  ],
  [
    "answers that a lock is renewed without asking",
    ["believes in a lock that is gone", "two holders in two processes"],
    flaw(() => ({
      renew: () => Promise.resolve("renewed"),
    })),
  ],
  [
    "drops a request that fails",
    ["unhandled rejection"],
    flaw((connection) => ({
      release: (claim) => {
        void connection.release(claim);
        return connection.release(claim);
      },
    })),
  ],
  [
    "asks for longer leases than its callers",
    ["lease longer than wished"],
    flaw((connection) => ({
      renew: (claim) => connection.renew({ ...claim, lease: claim.lease + 1 }),
    })),
  ],
  ["does not name the waiters that sleep", ["place lost"], (connection) => {
    const attempt = connection.attempt.bind(connection);
    connection.attempt = (claim, options) => attempt(claim, { ...options, alive: [] });
  }, "linger"],
];
