/**
 * Locks in any store that can replace a value if its version is still the one that was read.
 *
 * @module
 */
export { cas, CasStore } from "./store.ts";
export type { CasOptions } from "./options.ts";
export type { Backend, FoundDocument, ListedDocuments, WriteOptions, WriteResult } from "./backend.ts";
