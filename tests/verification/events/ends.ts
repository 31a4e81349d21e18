import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { AcquireOptions, Lock, Store } from "@holdfast/lock";
import { acquireFrom } from "../../../src/lock/acquisition.ts";
import type { Clock } from "../../../src/time/clock.ts";
import { checkAcquireOptions } from "../../../src/lock/options.ts";
import type { Observer } from "../../../src/contract/events.ts";
import { Caller, type Fate } from "./connection.ts";
import { EventLedger, type Outcome } from "./ledger.ts";

/** One call: when it is made, for which lock, and what is done with the lock. Times are in milliseconds. */
interface Call {
  readonly at: number;
  readonly name: string;
  readonly kind: AcquireOptions;
  readonly wait: number;
  readonly lease: number;
  readonly renew: boolean;
  /** When its signal aborts, after the call. */
  readonly abort: number | undefined;
  /** How long the lock is held; `undefined`: it is never released, and not renewed. */
  readonly hold: number | undefined;
  /** Whether its holder reads the signal, and so is notified of a revocation. */
  readonly reads: boolean;
}

/** Something that an operator does. */
interface Eviction {
  readonly at: number;
  readonly evict: string;
}

/** A random run. */
export interface Plan {
  readonly calls: readonly Call[];
  readonly evictions: readonly Eviction[];
  readonly fates: readonly Fate[];
}

/** The times of a run, in milliseconds. */
export interface Times {
  /** The last call is made before that. */
  readonly end: number;
  readonly waits: readonly number[];
  readonly leases: readonly number[];
  readonly holds: readonly number[];
}

const name = fc.constantFrom("a", "a", "a", "b");

/** Returns the plans with these times; `shared` whether the store has more than exclusive locks. */
export function plansOf(
  times: Times,
  options: { readonly shared: boolean; readonly faults: boolean },
): fc.Arbitrary<Plan> {
  const at = fc.nat({ max: times.end });
  const kinds: AcquireOptions[] = [{}, {}, {}];
  if (options.shared) kinds.push({ mode: "shared" }, { permits: 2 }, { owner: "x" }, { owner: "x", mode: "shared" });
  if (options.shared) kinds.push({ steal: true });
  const call = fc.record({
    at,
    name,
    kind: fc.constantFrom(...kinds),
    wait: fc.constantFrom(...times.waits),
    lease: fc.constantFrom(...times.leases),
    renew: fc.boolean(),
    abort: fc.option(fc.constantFrom(...times.holds), { nil: undefined, freq: 3 }),
    hold: fc.option(fc.constantFrom(...times.holds), { nil: undefined, freq: 5 }),
    reads: fc.boolean(),
  });
  const fate = fc.oneof(
    { weight: 12, arbitrary: fc.constant<Fate>("done") },
    { weight: 5, arbitrary: fc.constantFrom<Fate>("lost", "unheard", "slow") },
    { weight: 1, arbitrary: fc.constantFrom<Fate>("silent", "refused") },
  );
  return fc.record({
    calls: fc.array(call, { minLength: 1, maxLength: 14 }),
    evictions: options.shared ? fc.array(fc.record({ at, evict: name }), { maxLength: 2 }) : fc.constant([]),
    fates: options.faults ? fc.array(fate, { maxLength: 60 }) : fc.constant([]),
  });
}

/** How long after the end of a lease, and how often then, it is asked whether that was noticed, in milliseconds. */
const LOOK_MS = 10;

/** A store of a run. */
export interface Fixture {
  readonly store: Store;
  readonly clock: Clock;
  /** How much later a busy machine may notice the end of a lease, in milliseconds; not at all if left out. */
  readonly lateMs?: number;
  /** Resolves once all of this has happened. */
  readonly pass: (all: Promise<unknown>) => Promise<void>;
  /** Returns how many timers there are, if that is known. */
  readonly timers?: () => number;
}

/** Does random runs, and checks that each call has the events that it must have. Returns how often they ended how. */
export async function endsOnce(
  plans: fc.Arbitrary<Plan>,
  numRuns: number,
  open: (fates: readonly Fate[], observer: Observer) => Fixture,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const ledger = new EventLedger();
      const fixture = open(plan.fates, ledger.observer);
      const results: unknown[] = [];
      const calls = plan.calls.map((call) =>
        run(fixture, call, ledger).catch((error: unknown) => error).then((r) => results.push(r))
      );
      const evictions = plan.evictions.map(async ({ at, evict }) => {
        await fixture.clock.sleep(at);
        await fixture.store.evict?.(evict).catch((error) => {
          // On a busy machine it may fail, as a call may.
          if (fixture.lateMs === undefined) throw error;
        });
      });
      await fixture.pass(Promise.all([...calls, ...evictions]));
      assertEquals(results, plan.calls.map(() => undefined), "every call has ended, and none was judged to be wrong");
      assertEquals(ledger.problems(), []);
      assertEquals(fixture.timers?.() ?? 0, 0, "timers are left");
      for (const [type, reasons] of ENDS) {
        for (const reason of reasons) {
          const what = [type, reason].join(" ").trim();
          counts.set(what, (counts.get(what) ?? 0) + ledger.count(type, reason));
        }
      }
    }),
    { numRuns },
  );
  return counts;
}

const ENDS = [
  ["acquired", [undefined]],
  ["released", [undefined]],
  ["gave_up", ["busy", "timeout", "aborted", "conflict", "store"]],
  ["lost", ["expired", "revoked", "missing"]],
] as const;

/** Makes a call, does with the lock what it says, and notes what became of it. */
async function run({ store, clock, lateMs = 0 }: Fixture, call: Call, ledger: EventLedger): Promise<void> {
  await clock.sleep(call.at);
  const caller = new Caller(store, ledger.observer);
  const abort = new AbortController();
  const { kind, wait, lease, renew, hold } = call;
  const options = { ...kind, wait, lease, renew: renew && hold !== undefined, signal: abort.signal };
  const ended = new AbortController();
  if (call.abort !== undefined) clock.sleep(call.abort, ended.signal).then(() => abort.abort(new Error("enough")));
  let outcome: Outcome;
  try {
    const lock = await acquireFrom(caller, call.name, checkAcquireOptions(options), clock);
    ended.abort("over");
    const isOver = () => [...caller.handles].some((handle) => ledger.isOver(handle));
    const noticed = async () => {
      for (let late = 0; !isOver() && late < lateMs; late += LOOK_MS) await clock.sleep(LOOK_MS);
    };
    outcome = lock === null ? { busy: true } : await use(lock, call, clock, noticed);
  } catch (error) {
    ended.abort("over");
    outcome = { error };
  }
  const [handle, ...others] = caller.handles;
  assert(handle !== undefined && others.length === 0, "a call is one handle");
  ledger.settled(handle, outcome);
}

async function use(
  lock: Lock,
  { hold, lease, reads }: Call,
  clock: Clock,
  noticed: () => Promise<void>,
): Promise<Outcome> {
  const { fence } = lock;
  if (reads) lock.signal.addEventListener("abort", () => {}, { once: true });
  if (hold === undefined) {
    // One that nobody releases or renews ends with its lease.
    await clock.sleep(lease + LOOK_MS);
    await noticed();
    return { fence, released: undefined };
  }
  await clock.sleep(hold);
  try {
    await lock.release();
    return { fence, released: "resolved" };
  } catch (error) {
    return { fence, released: { error } };
  }
}
