import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async";
import type { Claim, Store } from "@holdfast/lock";
import fc from "fast-check";
import { handleOf } from "../../../src/contract/store.ts";
import { connected, type Place, testOn } from "../../places/place.ts";
import { isUnanswered } from "../../../packages/testing/src/expect.ts";
import { patient } from "../../support/patient.ts";
import { type Fate, QueueModel } from "./model.ts";

/** A step of a run: a new handle asks, the handle at a place in the list of all handles releases, or leases end. */
type Step =
  | {
    readonly ask: Pick<Claim, "mode" | "permits">;
    readonly owner: string | undefined;
    /**
     * Whether a handle whose owner is fresh may be a member of a run. It never is handed the lock, and attempts again.
     */
    readonly member: boolean;
    readonly steal: boolean;
    /** Whether its lease can end. */
    readonly short: boolean;
  }
  | { readonly release: number }
  | { readonly end: true };

/** A waiter that does not attempt for so many milliseconds is alive on every store. */
const SILENT = 300;

/** A lease that never ends, and one that ends when a run waits for it, in milliseconds. */
const LONG = 60_000;
const SHORT = 150;

/** The group of all that may be members of a run. */
const GROUP = crypto.randomUUID();

/** How many of the runs wait for leases to end; each does so several times. */
const ENDING = 15;

/** After so many milliseconds the short leases have ended. */
const OVER = SHORT + 70;

const kinds: Pick<Claim, "mode" | "permits">[] = [
  { mode: "exclusive" },
  { mode: "shared" },
  { mode: "exclusive", permits: 2 },
  { mode: "exclusive", permits: 3 },
];

/** Most runs keep to two kinds: more of them mostly conflict. */
const runs = fc.uniqueArray(fc.constantFrom(...kinds), { minLength: 1, maxLength: 3 }).chain((kinds) =>
  fc.array(
    fc.oneof(
      { weight: 3, arbitrary: fc.record({ release: fc.nat(30) }) },
      { weight: 1, arbitrary: fc.constant({ end: true }) },
      {
        weight: 4,
        arbitrary: fc.record({
          ask: fc.constantFrom(...kinds),
          owner: fc.option(fc.constantFrom("x", "y"), { nil: undefined, freq: 3 }),
          member: fc.boolean(),
          steal: fc.nat(12).map((n) => n === 0),
          short: fc.boolean(),
        }),
      },
    ) as fc.Arbitrary<Step>,
    { minLength: 10, maxLength: 40 },
  )
);

/** Releases a claim. On a slow machine the first try may have done so without an answer, and is not asked about. */
async function release(store: Store, claim: Claim): Promise<void> {
  try {
    await store.release(claim);
  } catch (error) {
    if (!isUnanswered(error)) throw error;
  }
}

/**
 * Does random runs on a store and on the model. After each step the same handles must hold the lock, wait and be
 * refused. Leases end only with `ending`, because that takes real time.
 */
export async function agrees(
  store: Store,
  { runs: numRuns, ending }: { runs: number; ending: boolean },
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(runs, fc.nat(), async (steps, order) => {
      const model = new QueueModel();
      const name = crypto.randomUUID();
      const claims: Claim[] = [];
      const fates = new Map<string, Fate>();
      const fences = new Map<string, bigint>();
      let highest = 0n;
      let next = 0n;
      const ask = async (claim: Claim, steal: boolean): Promise<Fate> => {
        const attempt = await store.attempt(claim, { enqueue: true, steal });
        if ("conflict" in attempt) {
          await release(store, claim);
          return "conflict";
        }
        if (!attempt.granted) return "waiting";
        const { fence } = attempt;
        const own = claims.find((each) => each.owner === claim.owner && fates.get(handleOf(each)) === "granted");
        if (own !== undefined) assert(fence === fences.get(handleOf(own)) || isLate(), "an owner keeps its fence");
        else assert(fence > highest && ![...fences.values()].includes(fence), `fence ${fence} after ${highest}`);
        fences.set(handleOf(claim), fence);
        const end = fence + BigInt(attempt.run?.length ?? 0);
        if (end > next) next = end;
        return "granted";
      };
      // On a machine that stood still for so long, leases may have ended that the run did not wait for, or waiters
      // that did not attempt may have been taken for dead.
      let [renewed, quick] = [performance.now(), 0];
      const isLate = () => performance.now() - renewed > quick;
      for (const step of steps) {
        highest = next;
        quick = ("end" in step && ending ? OVER : 0) + (ending ? SHORT / 2 : SILENT);
        if ("end" in step) {
          if (!ending) continue;
          const over = claims.filter((claim) => claim.lease === SHORT && fates.get(handleOf(claim)) === "granted");
          await delay(OVER);
          for (const claim of over) {
            fates.set(handleOf(claim), "gone");
            model.release(claim);
          }
        } else if ("release" in step) {
          const claim = claims[step.release % Math.max(1, claims.length)];
          if (claim === undefined) continue;
          await release(store, claim);
          fates.set(handleOf(claim), "gone");
          model.release(claim);
        } else {
          const id = crypto.randomUUID();
          const { owner } = step;
          const who = owner === undefined ? { owner: id } : { owner, handle: `${owner}/${id}` };
          const steal = step.steal && step.ask.permits === undefined && step.ask.mode === "exclusive";
          const exclusive = step.ask.mode === "exclusive" && step.ask.permits === undefined && owner === undefined;
          const group = exclusive && step.member ? { group: GROUP } : {};
          const claim: Claim = { name, ...step.ask, ...who, ...group, lease: ending && step.short ? SHORT : LONG };
          claims.push(claim);
          fates.set(handleOf(claim), await ask(claim, steal));
          model.request(claim, steal);
        }
        // All waiters ask until nothing changes any more, in an order that must not matter. But the members of a run,
        // which are in the queue of the store no more, are woken before its lease ends, and queue again in their order.
        const first = "end" in step ? 0 : order;
        for (let changed = true; changed;) {
          changed = false;
          const waiting = claims.filter((claim) => fates.get(handleOf(claim)) === "waiting");
          for (const i of waiting.keys()) {
            const claim = waiting[(i + first) % waiting.length]!;
            if (fates.get(handleOf(claim)) !== "waiting") continue;
            const fate = await ask(claim, false);
            fates.set(handleOf(claim), fate);
            if (fate !== "waiting") changed = true;
          }
        }
        for (const claim of claims) {
          if (fates.get(handleOf(claim)) === "granted" && await store.renew(claim) === "lost") {
            fates.set(handleOf(claim), "gone");
          }
        }
        if (isLate()) break;
        renewed = performance.now();
        assertEquals(
          [...fates.values()],
          claims.map((claim) => model.fates.get(handleOf(claim))),
          JSON.stringify(step),
        );
      }
      for (const claim of claims) await release(store, claim);
    }),
    { numRuns },
  );
}

/** Does fewer runs: on a store whose queue is the code of another one, on which all are done. */
export async function agreesInFewRuns(store: Store): Promise<void> {
  await agrees(store, { runs: 100, ending: false });
  await agrees(store, { runs: 5, ending: true });
}

/** Defines the test of a place, with so many runs whose leases do not end, or with few. */
export function queueModel(place: Place, runs?: number): void {
  testOn(place, `${place.of} grants what the model of the queue grants, in the same order`, async (fixture) => {
    const store = patient(await connected(fixture));
    if (runs === undefined) return await agreesInFewRuns(store);
    await agrees(store, { runs, ending: false });
    await agrees(store, { runs: ENDING, ending: true });
  });
}
