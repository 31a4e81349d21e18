/**
 * Functions for authors of stores, of wrappers around stores and of tools: the store that `acquire` uses for a client,
 * the id of a handle, its checks, and its errors.
 *
 * @example List the locks of a client that is passed to `acquire`
 * ```ts ignore
 * import { Redis } from "ioredis";
 * import { storeOf } from "@holdfast/lock/authors";
 *
 * const store = await storeOf(new Redis());
 * const { held } = await store.query!({ match: "invoice:*" });
 * console.log(held.map(({ name, owner }) => `${name} is held by ${owner}`));
 * ```
 *
 * @module
 */
import { checkTarget } from "../internal/mistaken_target.ts";
import { type AcquireOptions, checkAcquireOptions, checkName } from "./options.ts";
import type { Store } from "../contract/store.ts";
import { type LockTarget, storeOf as knownStoreOf } from "./target.ts";

export { handleOf } from "../contract/store.ts";
export { isPermanent, storeError } from "../internal/failure.ts";
export { nameFilter } from "../internal/listing/query_options.ts";
export { reason } from "../internal/reason.ts";
export { checkKeys, checkMilliseconds, show } from "../internal/validation.ts";

/**
 * Returns the store that `acquire` uses for a target: the same store for each call, so that the caller and `acquire`
 * share its state in this process.
 *
 * @example
 * ```ts
 * import { memory } from "@holdfast/lock/memory";
 * import { storeOf } from "@holdfast/lock/authors";
 *
 * const store = await storeOf(memory());
 * console.log(store.capabilities?.includes("query")); // true
 * ```
 *
 * @throws {TypeError} when the target is neither a store, nor a client, nor an array of clients
 */
export function storeOf(target: LockTarget): Store | Promise<Store> {
  checkTarget(target);
  return knownStoreOf(target);
}

/**
 * Throws the error with which `acquire` rejects these arguments on every store. For example, a program that reads the
 * arguments from its configuration can check them at its start.
 *
 * @example
 * ```ts
 * import { checkArguments } from "@holdfast/lock/authors";
 *
 * checkArguments("invoice:42", { lease: 30_000 });
 * ```
 *
 * @throws {TypeError} when the name is no text, or an option is unknown or of the wrong kind
 * @throws {RangeError} when the name or an option is out of range
 */
export function checkArguments(name: string, options?: AcquireOptions): void {
  checkName(name);
  checkAcquireOptions(options);
}
