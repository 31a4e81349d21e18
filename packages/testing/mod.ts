/**
 * The behaviours that every {@linkcode Store} must show, as tests for any test runner.
 *
 * @example Test a store
 * ```ts ignore
 * import { storeSuite } from "@holdfast/testing";
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
export { storeSuite, type StoreSuiteOptions } from "./src/store_suite.ts";
export type { StoreFixture } from "./src/fixture.ts";
