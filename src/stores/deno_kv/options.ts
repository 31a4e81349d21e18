import { checkClientReceiver } from "../../internal/receiver.ts";
import { checkKeys, show } from "../../internal/validation.ts";
import type { CasOptions } from "../../engine/options.ts";

/** The entry of a key of a Deno KV. */
export interface DenoKvEntry {
  /** The key. */
  readonly key: readonly unknown[];
  /** The value; `null` if the key has none. */
  readonly value: unknown;
  /** The version of the value; `null` if the key has none. */
  readonly versionstamp: string | null;
}

/** An atomic operation of a Deno KV, before its commit. */
export interface DenoKvAtomic {
  /** Refuses the commit if the key has another version. */
  check(expected: { readonly key: readonly string[]; readonly versionstamp: string | null }): this;
  /** Sets a value. */
  set(key: readonly string[], value: unknown): this;
  /** Deletes a key. */
  delete(key: readonly string[]): this;
  /** Executes the whole operation, or nothing. */
  commit(): Promise<{ readonly ok: true; readonly versionstamp: string } | { readonly ok: false }>;
}

/** A listing of a Deno KV. */
export interface DenoKvList extends AsyncIterable<DenoKvEntry> {
  /** Where the next page begins; `""` on the last page. */
  readonly cursor: string;
}

/** The part of a `Deno.Kv` that the store uses. */
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
  /** Streams the entry of a key: the present entry, and each later one. */
  watch(keys: readonly [readonly string[]]): ReadableStream<readonly DenoKvEntry[]>;
}

/** The options of `denoKv()`. */
export interface DenoKvOptions extends CasOptions {
  /** The first part of each key, before the name of the lock; `"holdfast"` when left out. */
  readonly prefix?: string | undefined;
}

/** Checks a Deno KV and the options, and separates the engine's options. */
export function checkDenoKvOptions(kv: DenoKv, options: DenoKvOptions): { prefix: string; engine: CasOptions } {
  const wanted = "kv must be a Deno.Kv, as await Deno.openKv() gives it with the flag --unstable-kv";
  for (const method of ["get", "list", "atomic", "watch"]) {
    if (typeof Reflect.get(Object(kv), method) !== "function") {
      throw new TypeError(`${wanted}: got ${show(kv)}, ${method}() is missing`);
    }
  }
  checkClientReceiver(wanted, () => kv.atomic());
  const { prefix = "holdfast", ...engine } = checkKeys(options, ["prefix", "maxClockSkew", "observer"]);
  if (typeof prefix !== "string") throw new TypeError(`prefix must be a string: got ${show(prefix)}`);
  // Half a surrogate pair becomes U+FFFD in a key.
  if (!prefix.isWellFormed()) throw new TypeError(`prefix must be well-formed Unicode: got ${show(prefix)}`);
  return { prefix, engine };
}
