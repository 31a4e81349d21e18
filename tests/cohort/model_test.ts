import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Claim, Store } from "@holdfast/lock";
import type { CohortOptions } from "@holdfast/lock/cohort";
import type { HandoffCohort } from "../../src/cohort/cohort.ts";
import { settled } from "../support/virtual_clock.ts";
import { claimOf } from "../support/claims.ts";
import { type Line, lost, Place, unheard } from "./place.ts";

const HANDLES = 9;
const LEASE = 2_000;

/** What is done by a handle, to the lock or to a connection. */
type Step =
  | { readonly does: "ask" | "try" | "steal" | "renew" | "release" | "sleep"; readonly handle: number }
  | { readonly does: "fail"; readonly operation: "attempt" | "renew" | "release"; readonly unheard: boolean }
  | { readonly does: "evict"; readonly handle: number }
  | { readonly does: "wait"; readonly ms: number };

const handle = fc.nat({ max: HANDLES - 1 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ does: fc.constantFrom("ask", "ask", "try", "sleep"), handle }) },
  { weight: 8, arbitrary: fc.record({ does: fc.constantFrom("renew", "release", "release", "release"), handle }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constantFrom("steal", "evict"), handle }) },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant("fail"),
      operation: fc.constantFrom("attempt", "renew", "release"),
      unheard: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ does: fc.constant("wait"), ms: fc.constantFrom(1, 5, 10, 300, LEASE) }) },
) as fc.Arbitrary<Step>;

const options: fc.Arbitrary<CohortOptions> = fc.constantFrom<CohortOptions>(
  {},
  { linger: 10 },
  { keep: 500, linger: 500 },
  { keep: 3_000 },
);

/** Who has which fence, for as long as it may rely on the lock. */
interface Belief {
  readonly fence: bigint;
  until: number;
}

Deno.test("HandoffCohort keeps every promise of a store, whatever happens", async () => {
  await fc.assert(
    fc.asyncProperty(
      options,
      fc.boolean(),
      fc.array(step, { minLength: 5, maxLength: 60 }),
      async (options, revokes, steps) => {
        const world = new World(options, revokes);
        for (const step of steps) await world.take(step);
        await world.end();
      },
    ),
    { numRuns: 3_000 },
  );
});

/** Releases as every handle does: again until the store has answered. */
async function released(store: Store, claim: Claim): Promise<void> {
  while (await store.release(claim).then(() => false, () => true));
}

/** Handles of two cohorts and of rivals, on one store. */
class World {
  readonly #place: Place;
  readonly #line: Line;
  readonly #cohorts: readonly HandoffCohort[];
  readonly #claims: Claim[] = Array.from(
    { length: HANDLES },
    (_, i) => claimOf("a", i === 8 ? "shared" : "exclusive", LEASE),
  );
  readonly #beliefs = new Map<number, Belief>();
  readonly #sleeps: AbortController[] = [];
  #highest = 0n;
  /** Who was granted that. */
  #last: number | undefined;

  /** With `revokes` all handles but the rivals are of one process: another one hears of a theft only later. */
  readonly #revokes: boolean;

  constructor(options: CohortOptions, revokes: boolean) {
    this.#revokes = revokes;
    this.#place = new Place(options);
    this.#line = this.#place.line;
    this.#cohorts = [this.#place.cohort, this.#place.another(options)];
  }

  /** Takes a step. */
  async take(step: Step): Promise<void> {
    if ((step.does === "steal" || step.does === "evict") && (!this.#revokes || step.handle >= 6)) return;
    switch (step.does) {
      case "wait":
        await this.#place.clock.advance(step.ms);
        break;
      case "fail":
        this.#line.faults[step.operation].push(step.unheard ? unheard : lost);
        break;
      case "evict":
        this.#beliefs.clear();
        await this.#store(step.handle).evict!("a");
        break;
      case "sleep": {
        const sleep = new AbortController();
        this.#sleeps.push(sleep);
        void this.#store(step.handle).wakeup!(this.#claims[step.handle]!, sleep.signal);
        break;
      }
      default:
        await this.#done(this.#act(step.does, step.handle));
    }
    await settled();
  }

  /** Resolves when a step is done: an attempt waits for a release of its id, which may pause before it is retried. */
  async #done(step: Promise<void>): Promise<void> {
    let isDone = false;
    const done = step.finally(() => isDone = true);
    done.catch(() => {});
    await settled();
    while (!isDone) await this.#place.clock.advance(1);
    await done;
  }

  /** Releases everything; then nothing is left. */
  async end(): Promise<void> {
    for (const each of Object.values(this.#line.faults)) each.length = 0;
    for (const sleep of this.#sleeps) sleep.abort("over");
    for (let i = 0; i < HANDLES; i++) await released(this.#store(i), this.#claims[i]!);
    await this.#place.clock.advance(70_000);
    for (const cohort of this.#cohorts) await cohort[Symbol.asyncDispose]();
    await settled();
    assertEquals(await this.#place.memory.query(), { held: [], pending: [] });
    assertEquals(this.#cohorts.flatMap(({ names }) => names), []);
    assertEquals(this.#place.clock.pending, 0);
  }

  async #act(does: "ask" | "try" | "steal" | "renew" | "release", handle: number): Promise<void> {
    const store = this.#store(handle);
    const claim = this.#claims[handle]!;
    const now = this.#place.clock.now().monotonic;
    const known = this.#beliefs.get(handle);
    switch (does) {
      case "release":
        this.#beliefs.delete(handle);
        // A handle that was released does not come back.
        if (this.#last === handle) this.#last = undefined;
        this.#claims[handle] = { ...claim, owner: crypto.randomUUID() };
        await released(store, claim);
        break;
      case "renew":
        if (await store.renew(claim).catch(() => undefined) === "renewed" && known !== undefined) {
          known.until = now + LEASE;
        }
        break;
      default: {
        if (does === "steal") {
          for (const other of [...this.#beliefs.keys()]) if (other !== handle) this.#beliefs.delete(other);
        }
        const attempt = await store.attempt(claim, { enqueue: does === "ask", steal: does === "steal" })
          .catch(() => undefined);
        if (attempt?.granted) this.#granted(handle, attempt.fence, now + LEASE - (attempt.age ?? 0));
      }
    }
  }

  #granted(handle: number, fence: bigint, until: number): void {
    const now = this.#place.clock.now().monotonic;
    for (const [other, belief] of this.#beliefs) {
      assert(
        other === handle || belief.until <= now || fence === belief.fence,
        `${other} has it while ${handle} is granted it`,
      );
    }
    // Who asks again is told its fence again, as long as nobody has got another one.
    if (fence !== this.#highest || this.#last !== handle) {
      assert(fence > this.#highest, `${fence} after ${this.#highest}`);
    }
    [this.#highest, this.#last] = [fence, handle];
    this.#beliefs.clear();
    this.#beliefs.set(handle, { fence, until });
  }

  #store(handle: number): Store {
    return handle === 8
      ? this.#cohorts[0]!
      : handle >= 6
      ? this.#place.memory
      : this.#cohorts[this.#revokes ? 0 : handle % 2]!;
  }
}
