/**
 * Locks in any store that can replace a value if its version has not changed since it was read (compare-and-set).
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
 * @module
 */
export { cas } from "./store.ts";
export type { CasOptions } from "./options.ts";
export type {
  Backend,
  FoundDocument,
  KeyVersion,
  ListedDocuments,
  ServerTimers,
  WatchedDocument,
  WatchOptions,
  WriteOptions,
  WriteResult,
} from "./backend.ts";
