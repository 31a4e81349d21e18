/**
 * A dashboard in the browser: the locks of a store, their holders and queues, live; and, if you allow it, a way to
 * evict holders.
 *
 * @example
 * ```ts
 * import { dashboard } from "@holdfast/cli/dashboard";
 * import { memory } from "@holdfast/lock/memory";
 *
 * using locks = dashboard(memory()); // give it to your server: Deno.serve(locks)
 * const response = await locks(new Request("http://localhost/api/locks"));
 * console.log(await response.json()); // { locks: [] }
 * ```
 *
 * @module
 */
export { type Dashboard, dashboard } from "./dashboard.ts";
export type { DashboardOptions, EvictionRight } from "./options.ts";
