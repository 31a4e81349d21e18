import type { LockTarget } from "@holdfast/lock";
import { storeOf } from "@holdfast/lock/authors";
import { SystemClock } from "../time/clock.ts";
import { checkDashboardOptions, type DashboardOptions } from "./options.ts";
import { RequestHandler } from "./request_handler.ts";

/** Answers requests with the pages of a dashboard. Disposing of it ends its streams and its counters. */
export interface Dashboard extends Disposable {
  /** Answers a request. Never rejects. */
  (request: Request): Promise<Response>;
}

/**
 * Makes a dashboard of the locks of a store: who holds them and who waits, live in a browser. It is a function from
 * requests to responses, for any server.
 *
 * It has no users: everybody who reaches it sees all locks. Let your server authenticate first. It polls the store
 * while a page is open, and counts the events of its own process.
 *
 * @example On a path of a server that has other pages too
 * ```ts ignore
 * import { dashboard } from "@holdfast/cli/dashboard";
 * import { memory } from "@holdfast/lock/memory";
 *
 * const locks = dashboard(memory(), { basePath: "/locks" });
 * Deno.serve({ hostname: "127.0.0.1" }, (request) => {
 *   const { pathname } = new URL(request.url);
 *   return pathname.startsWith("/locks") ? locks(request) : new Response("hello");
 * });
 * ```
 *
 * @param target the store; or a client, or an array of them, as for `acquire`
 * @throws {TypeError} when the target is no lock target, or an option is unknown or of the wrong kind
 * @throws {RangeError} when `refresh` or `basePath` is not possible
 */
export function dashboard(target: LockTarget, options: DashboardOptions = {}): Dashboard {
  const settings = checkDashboardOptions(options);
  const handler = new RequestHandler(storeOf(target), settings, new SystemClock());
  return Object.assign((request: Request) => handler.handle(request), { [Symbol.dispose]: () => handler.close() });
}
