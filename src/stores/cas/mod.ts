/**
 * Locks in any store that can replace a value if its version is still the one that was read (compare-and-set).
 *
 * @example
 * ```ts
 * import { acquire } from "@holdfast/lock";
 * import { type Backend, cas } from "@holdfast/lock/cas";
 *
 * const documents = new Map<string, { value: string; version: number }>();
 * const backend: Backend<number> = {
 *   read: (key) => Promise.resolve(documents.get(key) ?? { value: undefined, version: 0 }),
 *   write: (key, value, version) => {
 *     const present = documents.get(key)?.version ?? 0;
 *     if (present !== version) return Promise.resolve({ written: false });
 *     documents.set(key, { value, version: version + 1 });
 *     return Promise.resolve({ written: true, version: version + 1 });
 *   },
 * };
 *
 * await using lock = await acquire(cas(backend), "report");
 * console.log(lock.held); // true
 * ```
 *
 * @example
 * ```ts
 * import { acquire } from "@holdfast/lock";
 * import { type Backend, cas } from "@holdfast/lock/cas";
 *
 * const texts = new Map<string, { value: string; version: number }>(); // in place of a server
 * const backend: Backend<number> = {
 *   read: (key) => Promise.resolve({ value: undefined, version: 0, ...texts.get(key) }),
 *   write: (key, value, version) => {
 *     if ((texts.get(key)?.version ?? 0) !== version) return Promise.resolve({ written: false });
 *     texts.set(key, { value, version: version + 1 });
 *     return Promise.resolve({ written: true, version: version + 1 });
 *   },
 * };
 * await using lock = await acquire(cas(backend), "invoice:42");
 * ```
 *
 * @module
 */
export { cas } from "./store.ts";
export type { CasOptions } from "./options.ts";
export type { Backend, FoundDocument, ListedDocuments, WatchedDocument, WriteOptions, WriteResult } from "./backend.ts";
