import { base64Of, textOfBase64 } from "../../internal/base64.ts";
import { hashOf } from "../../internal/hash.ts";
import { show } from "../../internal/validation.ts";

/** The longest name in bytes that a node has in full: for a longer name the node has its hash. */
const LONGEST_BYTES = 200;

/** The prefix of a hash in the name of a node: base64url has no colon. */
const HASHED = "sha256:";

/** The node of the empty name, which no lock has. */
const NAMELESS = ":";

/**
 * The names of directories, in their order. There are two levels of 64, so that one of a million names has some
 * hundreds. No node of a lock has a name of one character.
 */
export const DIRECTORIES: readonly string[] = [
  ..."-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz",
];

/** The form of a cursor: the path of a node in its directories. */
const PLACE = /^[\w-]\/[\w-]\/[\w:-]+$/;

/**
 * Returns the path of the node of a lock below that of the store, such as `k/3/YQ`: two directories, by a hash, and the
 * name of the lock as base64url, or its SHA-256 if it is long. In this way names that nodes cannot have, such as `.`,
 * `a/b` or a NUL, stay distinct.
 *
 * @example
 * ```ts
 * import { nodeOf } from "@holdfast/lock/zookeeper";
 *
 * console.log(`/holdfast/${await nodeOf("invoice:42")}`); // the node of the lock, below the path of the store
 * ```
 */
export async function nodeOf(name: string): Promise<string> {
  const hash = hashOf(name);
  const directories = [hash, hash >>> 6].map((bits) => DIRECTORIES[(bits ^ bits >>> 16) & 63]);
  return [...directories, await ownNameOf(name)].join("/");
}

async function ownNameOf(name: string): Promise<string> {
  if (name === "") return NAMELESS;
  const bytes = new TextEncoder().encode(name);
  if (bytes.length <= LONGEST_BYTES) return base64url(base64Of(name));
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return HASHED + base64url(btoa(String.fromCharCode(...hash)));
}

/** Checks and returns a cursor: the path of a node, or the empty text at the start of a listing. */
export function checkCursor(cursor: string): string {
  if (cursor === "" || PLACE.test(cursor)) return cursor;
  throw new RangeError(`cursor must be one that query() has returned: got ${show(cursor)}`);
}

/** Returns the name of the lock of a node, for a hash from its document; `undefined` if it has none. */
export function nameOf(node: string, text = ""): string | undefined {
  if (!node.startsWith(HASHED)) return decoded(node);
  try {
    const { name } = JSON.parse(text);
    return typeof name === "string" ? name : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether a node can be the node of a lock. */
export function isLock(node: string): boolean {
  return node.startsWith(HASHED) || decoded(node) !== undefined;
}

function base64url(base64: string): string {
  return base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function decoded(node: string): string | undefined {
  try {
    const name = textOfBase64(node.replaceAll("-", "+").replaceAll("_", "/"));
    // A node of another program may only look like one.
    return base64url(base64Of(name)) === node ? name : undefined;
  } catch {
    return undefined;
  }
}
