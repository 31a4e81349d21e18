import { checkKeys, show } from "../../internal/validation.ts";
import type { CasOptions } from "../cas/options.ts";

/** What a Deno KV keeps under a key. */
export interface DenoKvEntry {
  /** The key. */
  readonly key: readonly unknown[];
  /** The value; `null` if nothing is kept under the key. */
  readonly value: unknown;
  /** The version of the value; `null` if nothing is kept under the key. */
  readonly versionstamp: string | null;
}

/** An atomic operation of a Deno KV, before its commit. */
export interface DenoKvAtomic {
  /** Refuses the commit if another version is kept under the key. */
  check(expected: { readonly key: readonly string[]; readonly versionstamp: string | null }): this;
  /** Sets a value. */
  set(key: readonly string[], value: unknown): this;
  /** Deletes a key. */
  delete(key: readonly string[]): this;
  /** Does all of it, or nothing. */
  commit(): Promise<{ readonly ok: true; readonly versionstamp: string } | { readonly ok: false }>;
}

/** A listing of a Deno KV. */
export interface DenoKvList extends AsyncIterable<DenoKvEntry> {
  /** Where the next page begins; `""` after the last one. */
  readonly cursor: string;
}

/** What the store uses of a `Deno.Kv`. */
export interface DenoKv {
  /** Reads a key. */
  get(key: readonly string[], options: { readonly consistency: "strong" }): Promise<DenoKvEntry>;
  /** Lists the keys that begin with these parts. */
  list(
    selector: { readonly prefix: readonly string[] },
    options: {
      readonly limit: number;
      readonly cursor?: string;
      readonly consistency: "strong";
    },
  ): DenoKvList;
  /** Begins an atomic operation. */
  atomic(): DenoKvAtomic;
  /** Streams the entry of a key: the present one, and each later one. */
  watch(keys: readonly [readonly string[]]): ReadableStream<readonly DenoKvEntry[]>;
}

/** The options of `denoKv()`. */
export interface DenoKvOptions extends CasOptions {
  /** The first part of each key, before the name of the lock; `"holdfast"` when left out. */
  readonly prefix?: string | undefined;
}

/** Checks a Deno KV and the options, and separates those of the engine. */
export function checkDenoKvOptions(kv: DenoKv, options: DenoKvOptions): { prefix: string; engine: CasOptions } {
  for (const method of ["get", "list", "atomic", "watch"]) {
    if (typeof Reflect.get(Object(kv), method) !== "function") {
      const wanted = "kv must be a Deno.Kv, as await Deno.openKv() gives it with the flag --unstable-kv";
      throw new TypeError(`${wanted}: got ${show(kv)}, ${method}() is missing`);
    }
  }
  const { prefix = "holdfast", ...engine } = checkKeys(options, ["prefix", "maxClockSkew", "observer"]);
  if (typeof prefix !== "string") throw new TypeError(`prefix must be a string: got ${show(prefix)}`);
  // Half a surrogate pair becomes U+FFFD in a key.
  if (!prefix.isWellFormed()) throw new TypeError(`prefix must be well-formed Unicode: got ${show(prefix)}`);
  return { prefix, engine };
}
