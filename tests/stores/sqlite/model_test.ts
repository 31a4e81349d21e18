import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { MemoryStore } from "../../../src/stores/memory/store.ts";
import type { Claim, Store } from "../../../src/contract/store.ts";
import { FileStore } from "../../../src/stores/sqlite/store.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { claimOf, LEASE } from "./fixture.ts";

/** What is done by a handle, or to the lock. */
type Step =
  | { readonly does: "ask" | "try" | "steal"; readonly handle: number; readonly kind: Partial<Claim> }
  | { readonly does: "renew" | "release"; readonly handle: number }
  | { readonly does: "evict" }
  | { readonly does: "wait"; readonly ms: number };

const HANDLES = 8;

const handle = fc.nat({ max: HANDLES - 1 });
const kind: fc.Arbitrary<Partial<Claim>> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ mode: "exclusive" }) },
  { weight: 5, arbitrary: fc.constant({ mode: "shared" }) },
  { weight: 3, arbitrary: fc.constantFrom({ permits: 2 }, { permits: 2 }, { permits: 3 }) },
) as fc.Arbitrary<Partial<Claim>>;
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 10, arbitrary: fc.record({ does: fc.constantFrom("ask", "ask", "try"), handle, kind }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("steal"), handle, kind: fc.constant({}) }) },
  { weight: 8, arbitrary: fc.record({ does: fc.constantFrom("renew", "release", "release"), handle }) },
  { weight: 1, arbitrary: fc.constant({ does: "evict" }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant("wait"), ms: fc.constantFrom(100, LEASE / 2, LEASE) }) },
) as fc.Arbitrary<Step>;

Deno.test("FileStore answers what the memory store answers", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const clock = new VirtualClock();
      using file = new FileStore(":memory:", undefined, clock);
      const sides = [new MemoryStore(undefined, clock), file].map((store) => new Side(store));
      for (const step of [...steps, ...Array.from({ length: HANDLES }, (_, handle) => ({ does: "release", handle }))]) {
        if (step.does === "wait") await clock.advance((step as { ms: number }).ms);
        const [model, real] = [await sides[0]!.take(step as Step), await sides[1]!.take(step as Step)];
        assertEquals(real, model, JSON.stringify(step));
      }
      assertEquals(await file.query(), { held: [], pending: [] });
    }),
    { numRuns: 1_000 },
  );
});

/** The handles of one store. Two of every three have an owner in common. */
class Side {
  readonly #store: Store;
  readonly #claims: Claim[];
  /** The waiters, in order. */
  readonly #waiting = new Set<number>();

  constructor(store: Store) {
    this.#store = store;
    this.#claims = Array.from(
      { length: HANDLES },
      (_, i) => i % 3 === 0 ? claimOf({ owner: `${i}` }) : claimOf({ owner: "me", handle: `me/${i}` }),
    );
  }

  /** Takes a step; then all waiters ask again. Gives all answers, and the holders and waiters after that. */
  async take(step: Step): Promise<unknown[]> {
    const answers: unknown[] = [await this.#do(step)];
    for (const handle of this.#waiting) answers.push([handle, await this.#ask(handle, { enqueue: true })]);
    const { held, pending } = await this.#store.query!();
    const owners = held.map(({ owner, mode, permits }) => `${owner} ${mode} ${permits}`).sort();
    return [...answers, owners, pending];
  }

  async #do(step: Step): Promise<unknown> {
    switch (step.does) {
      case "ask":
      case "try":
      case "steal": {
        // A handle asks for one kind for as long as it holds the lock or waits.
        const { handle, does } = step;
        const claim = this.#claims[handle]!;
        if (!this.#waiting.has(handle) && await this.#store.renew(claim) === "lost") {
          this.#claims[handle] = { ...claim, mode: "exclusive", permits: undefined, ...step.kind };
        }
        return await this.#ask(handle, {
          enqueue: does === "ask" || this.#waiting.has(handle),
          steal: does === "steal",
        });
      }
      case "renew":
        return await this.#store.renew(this.#claims[step.handle]!);
      case "release":
        this.#waiting.delete(step.handle);
        return await this.#store.release(this.#claims[step.handle]!);
      case "evict":
        return await this.#store.evict!(this.#claims[0]!.name);
      case "wait":
        return undefined;
    }
  }

  async #ask(handle: number, options: { enqueue: boolean; steal?: boolean }): Promise<unknown> {
    const claim = this.#claims[handle]!;
    const attempt = await this.#store.attempt(claim, options);
    const busy = !attempt.granted && !("conflict" in attempt);
    if (busy && options.enqueue) this.#waiting.add(handle);
    if (!busy && this.#waiting.delete(handle) && !attempt.granted) await this.#store.release(claim);
    if (attempt.granted) return true;
    return busy ? false : attempt;
  }
}
