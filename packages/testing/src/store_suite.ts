import type { Capability, Store } from "@holdfast/lock";
import { behavioursOf } from "./behaviours.ts";
import { check, until } from "./expect.ts";
import type { StoreFixture } from "./fixture.ts";

/** Options of {@linkcode storeSuite}. */
export interface StoreSuiteOptions {
  /** Defines a test: `Deno.test`, `node:test`'s `test`, and so on. */
  test: (name: string, run: () => Promise<void>) => void;
  /** Opens an empty place for the locks of one test. */
  open: () => StoreFixture | Promise<StoreFixture>;
  /** The capabilities that the store declares: their behaviours are tested too. */
  capabilities?: readonly Capability[];
}

/**
 * Defines the tests. Each test opens a place of its own, and fails if anything is left there.
 *
 * @example
 * ```ts ignore
 * import { test } from "node:test";
 * import { storeSuite } from "@holdfast/testing";
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
  for (const [name, behaviour] of Object.entries(behavioursOf(capabilities))) {
    test(name, async () => {
      const fixture = await open();
      try {
        checkDeclared(await fixture.connect(), capabilities);
        await behaviour(fixture);
        await until("nothing is left", async () => (await fixture.leftovers?.() ?? []).length === 0);
      } finally {
        await fixture.close();
      }
    });
  }
}

/** Checks that a store declares the tested capabilities, and that its methods match them. */
function checkDeclared(store: Store, capabilities: readonly Capability[]): void {
  const declared = [...store.capabilities ?? []].sort();
  check(declared.join() === [...capabilities].sort().join(), `the store declares what is tested: ${declared}`);
  for (const method of ["evict", "query"] as const) {
    const has = store[method] !== undefined;
    check(declared.includes(method) === has, `the store declares "${method}" if it has ${method}(): ${declared}`);
  }
}
