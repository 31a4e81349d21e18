import { SystemClock } from "../internal/time/clock.ts";
import { type LockTarget, storeOf } from "../target.ts";
import { checkDashboardOptions, type DashboardOptions } from "./options.ts";
import { RequestHandler } from "./request_handler.ts";

/** Answers requests with the pages of a dashboard. Dispose ends its streams and what it counts. */
export interface Dashboard extends Disposable {
  /** Answers a request. Never rejects. */
  (request: Request): Promise<Response>;
}

/**
 * Makes a dashboard of the locks of a store: who holds them and who waits, live in a browser. It is a function from
 * requests to responses, for any server.
 *
 * It knows no users: everybody who reaches it sees all locks. Let your server authenticate first. It polls the store
 * while somebody looks, and counts what the locks of its own process do.
 *
 * @example On a path of a server that has other pages too
 * ```ts ignore
 * import { dashboard } from "@holdfast/lock/dashboard";
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
 * @throws {TypeError} when the target is none, or an option is unknown or of the wrong kind
 * @throws {RangeError} when `refresh` or `basePath` is not possible
 */
export function dashboard(target: LockTarget, options: DashboardOptions = {}): Dashboard {
  const settings = checkDashboardOptions(options);
  const handler = new RequestHandler(storeOf(target), settings, new SystemClock());
  return Object.assign((request: Request) => handler.handle(request), { [Symbol.dispose]: () => handler.close() });
}
