import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { MemoryStore } from "../../../src/stores/memory/store.ts";
import { type Claim, type Granted, handleOf } from "../../../src/contract/store.ts";
import { FileStore } from "../../../src/stores/sqlite/store.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { claimOf } from "./fixture.ts";

/** What is done by a handle, or to the lock. */
type Step =
  | { readonly does: "ask" | "try" | "steal"; readonly handle: number; readonly fences: number | undefined }
  | { readonly does: "renew" | "release" | "forget"; readonly handle: number }
  | { readonly does: "evict" | "hand on" }
  | { readonly does: "wait"; readonly ms: number };

const HANDLES = 9;

/** Short enough to end in two waits, in each of which no waiter dies. */
const LEASE = 1_000;

const handle = fc.nat({ max: HANDLES - 1 });
const fences = fc.oneof(
  { weight: 8, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.constantFrom(1, 7, 6_000, 1_000_000) },
);
/** Many wait from the beginning on. */
const queue = fc.uniqueArray(handle, { minLength: 3, maxLength: HANDLES });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ does: fc.constantFrom("ask", "ask", "ask", "try"), handle, fences }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("steal"), handle, fences }) },
  { weight: 8, arbitrary: fc.record({ does: fc.constantFrom("renew", "release", "release", "forget"), handle }) },
  { weight: 1, arbitrary: fc.constant({ does: "evict" }) },
  { weight: 6, arbitrary: fc.constant({ does: "hand on" }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant("wait"), ms: fc.constantFrom(1, 3, 500) }) },
) as fc.Arbitrary<Step>;

/** One asks every 500 ms, for longer than a waiter that does not ask stays in the queue, and is taken into a run. */
const FOR_LONG: Step[] = [
  { does: "wait", ms: 500 },
  { does: "ask", handle: 3, fences: undefined },
  ...[1, 2].map((): Step => ({ does: "wait", ms: 500 })),
  { does: "hand on" },
  ...[1, 2].map((): Step => ({ does: "wait", ms: 500 })),
];

Deno.test("FileStore grants the fences and runs that the memory store grants", async () => {
  let [runs, blocks, returns] = [0, 0, 0];
  await fc.assert(
    fc.asyncProperty(queue, fc.array(step, { minLength: 5, maxLength: 40 }), async (queue, steps) => {
      const clock = new VirtualClock();
      using file = new FileStore(":memory:", undefined, clock);
      const [model, real] = [new Side(new MemoryStore(undefined, clock)), new Side(file)];
      const begins = queue.map((handle) => ({ does: "ask", handle, fences: undefined }) as const);
      const ends = Array.from({ length: HANDLES }, (_, handle) => ({ does: "release", handle }) as const);
      for (const step of [...begins, ...steps, ...ends]) {
        if (step.does === "wait") await clock.advance(step.ms);
        const expected = await model.take(step);
        assertEquals(await real.take(step), expected, JSON.stringify(step));
      }
      assertEquals(await file.query(), { held: [], pending: [] });
      runs += model.runs;
      blocks += model.blocks;
      returns += model.returns;
    }),
    { numRuns: 500, examples: [[[0, 2, 5, 1], FOR_LONG]] },
  );
  assert(runs > 100 && blocks > 20 && returns > 20, `${runs} runs, ${blocks} blocks, ${returns} members came back`);
});

/** The handles of one store: of two groups, of none, and of an owner. */
class Side {
  /** How many runs there were, blocks of several fences, and members that came back into the queue. */
  runs = 0;
  blocks = 0;
  returns = 0;
  readonly #store: MemoryStore | FileStore;
  readonly #claims: Claim[];
  /** The waiters, in the order in which they ask again. */
  readonly #waiting = new Set<number>();
  /** The members of runs that have not come back. */
  readonly #taken = new Set<number>();
  #last = 0n;

  constructor(store: MemoryStore | FileStore) {
    this.#store = store;
    const [one, two] = [{ group: "one" }, { group: "two" }];
    const kinds: Partial<Claim>[] = [one, one, one, one, one, two, {}, { owner: "me", handle: "me/7" }, {
      mode: "shared",
    }];
    this.#claims = kinds.map((kind, i) => claimOf({ owner: `${i}`, lease: LEASE, ...kind }));
  }

  /** Takes a step; then all waiters ask again. Gives all answers, and the holders and waiters after that. */
  async take(step: Step): Promise<unknown[]> {
    const answers: unknown[] = [await this.#do(step)];
    for (const handle of [...this.#waiting]) {
      if (this.#waiting.has(handle)) answers.push([handle, await this.#ask(handle, { enqueue: true })]);
    }
    const { held, pending } = await this.#store.query();
    return [...answers, held.map(({ owner }) => owner).sort(), pending];
  }

  async #do(step: Step): Promise<unknown> {
    switch (step.does) {
      case "ask":
      case "try":
      case "steal": {
        const { handle, does, fences } = step;
        this.#claims[handle] = { ...this.#claims[handle]!, fences };
        return await this.#ask(handle, { enqueue: does === "ask", steal: does === "steal" });
      }
      case "renew":
        return await this.#store.renew(this.#claims[step.handle]!);
      case "forget":
        if (this.#taken.delete(step.handle)) this.#store.forget(this.#claims[step.handle]!);
        return undefined;
      case "release":
        this.#waiting.delete(step.handle);
        this.#taken.delete(step.handle);
        return await this.#store.release(this.#claims[step.handle]!);
      case "hand on": {
        const { held } = await this.#store.query();
        for (const { owner } of held) {
          await this.#store.release(this.#claims.find((claim) => claim.owner === owner)!);
        }
        return held.length;
      }
      case "evict":
        return await this.#store.evict("name");
      case "wait":
        return undefined;
    }
  }

  async #ask(handle: number, options: { enqueue: boolean; steal?: boolean }): Promise<unknown> {
    const claim = this.#claims[handle]!;
    const attempt = await this.#store.attempt(claim, {
      ...options,
      enqueue: options.enqueue || this.#waiting.has(handle),
    });
    if (attempt.granted) return this.#granted(handle, attempt);
    if ("conflict" in attempt) {
      if (this.#waiting.delete(handle)) await this.#store.release(claim);
      return attempt;
    }
    if (options.enqueue) this.#waiting.add(handle);
    if (options.enqueue && this.#taken.delete(handle)) this.returns++;
    return false;
  }

  #granted(handle: number, { fence, fences = 1, run = [], contended }: Granted): unknown {
    this.#waiting.delete(handle);
    this.#taken.delete(handle);
    const members = this.#claims.flatMap((claim, i) => run.includes(handleOf(claim)) ? [i] : []);
    for (const member of members) {
      this.#waiting.delete(member);
      this.#taken.add(member);
    }
    if (run.length > 0) this.runs++;
    if (fences > 1) this.blocks++;
    const fresh = fence > this.#last;
    const end = fence + BigInt(Math.max(fences - 1, run.length));
    if (end > this.#last) this.#last = end;
    assert(fresh || fences === 1 && run.length === 0, "nothing is granted twice");
    const { fences: wish, group } = this.#claims[handle]!;
    return { fence, fences, run, contended: wish === undefined && group === undefined ? "unknown" : contended };
  }
}
