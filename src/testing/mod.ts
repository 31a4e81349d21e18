/**
 * The behaviours that every {@linkcode Store} must show, as tests for any test runner.
 *
 * @example Test a store
 * ```ts ignore
 * import { storeSuite } from "@holdfast/lock/testing";
 * import { memory } from "@holdfast/lock/memory";
 *
 * storeSuite({
 *   test: (name, run) => Deno.test(name, run),
 *   open: () => {
 *     const store = memory();
 *     return { connect: () => store, close: () => {} };
 *   },
 * });
 * ```
 *
 * @module
 */
import { behaviours } from "./behaviours.ts";
import { check, until } from "./expect.ts";
import type { StoreFixture } from "./fixture.ts";
import { kinds } from "./kinds.ts";
import type { Capability } from "../store.ts";

export type { StoreFixture } from "./fixture.ts";

/** What {@linkcode storeSuite} takes. */
export interface StoreSuiteOptions {
  /** Defines a test: `Deno.test`, `node:test`'s `test`, and so on. */
  test: (name: string, run: () => Promise<void>) => void;
  /** Opens an empty place for the locks of one test. */
  open: () => StoreFixture | Promise<StoreFixture>;
  /** What the store declares to support besides: the behaviours of that are tested too. */
  capabilities?: readonly Capability[];
}

/**
 * Defines the tests. Each opens a place of its own, and fails unless nothing is left there.
 *
 * @example
 * ```ts ignore
 * import { test } from "node:test";
 * import { storeSuite } from "@holdfast/lock/testing";
 * import { sqlite } from "@holdfast/lock/sqlite";
 *
 * storeSuite({
 *   test,
 *   open: () => {
 *     const store = sqlite(":memory:");
 *     return { connect: () => store, close: () => store.close() };
 *   },
 * });
 * ```
 *
 * @param options the runner's test function, and how to open a place for locks
 */
export function storeSuite({ test, open, capabilities = [] }: StoreSuiteOptions): void {
  const wanted = Object.assign({}, behaviours, ...capabilities.map((capability) => kinds[capability]));
  for (const [name, behaviour] of Object.entries<(fixture: StoreFixture) => Promise<void>>(wanted)) {
    test(name, async () => {
      const fixture = await open();
      try {
        const declared = [...(await fixture.connect()).capabilities ?? []].sort();
        check(declared.join() === [...capabilities].sort().join(), `the store declares what is tested: ${declared}`);
        await behaviour(fixture);
        await until("nothing is left", async () => (await fixture.leftovers?.() ?? []).length === 0);
      } finally {
        await fixture.close();
      }
    });
  }
}
