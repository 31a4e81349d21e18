/**
 * Locks in Durable Objects: one object for each name, for Cloudflare Workers.
 *
 * The Worker exports the class `LockObject`, its configuration binds it (`durable_objects` and `migrations`), and each
 * request makes a store of the binding.
 *
 * @example
 * ```ts
 * import { acquire } from "@holdfast/lock";
 * import { durableObject, type LockNamespace } from "@holdfast/lock/durable-object";
 *
 * export async function charge(request: Request, env: { LOCKS: LockNamespace }): Promise<Response> {
 *   const store = durableObject(env.LOCKS);
 *   await using lock = await acquire(store, "invoice:42", { wait: 2_000, signal: request.signal });
 *   return new Response(`charged with fence ${lock.fence}`);
 * }
 * ```
 *
 * @module
 */
export { durableObject } from "./store.ts";
export { LockObject, type LockObjectState } from "./object.ts";
export type { LockObjectRequest } from "./server.ts";
export type { DurableObjectOptions, LockNamespace, LockStub } from "./options.ts";
export type { LockObjectStorage } from "./storage.ts";
