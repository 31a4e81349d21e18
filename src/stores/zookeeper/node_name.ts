import { base64Of, textOfBase64 } from "../../internal/base64.ts";

/** The longest name that a node is called by, in bytes: for a longer one the node is called by the hash. */
const LONGEST_BYTES = 200;

/** The prefix of a hash in the name of a node: base64url has no colon. */
const HASHED = "sha256:";

/**
 * Returns the name of the node of a lock: the name of the lock as base64url, or its SHA-256 if it is long. What nodes
 * cannot be called, such as `.`, `a/b` or a NUL, is kept apart in this way.
 */
export async function nodeOf(name: string): Promise<string> {
  const bytes = new TextEncoder().encode(name);
  if (bytes.length <= LONGEST_BYTES) return base64url(base64Of(name));
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return HASHED + base64url(btoa(String.fromCharCode(...hash)));
}

/** Returns the name of the lock of a node, given its document, which has the one that is hashed; `undefined` if it has none. */
export function nameOf(node: string, text = ""): string | undefined {
  if (!node.startsWith(HASHED)) return decoded(node);
  try {
    const { name } = JSON.parse(text);
    return typeof name === "string" ? name : undefined;
  } catch {
    return undefined;
  }
}

/** Returns a sort key for a node: by the name of its lock, hashes last; `undefined` if it has no lock. */
export function orderOf(node: string): string | undefined {
  // No character has the number U+FFFF.
  return node.startsWith(HASHED) ? `\uffff${node}` : decoded(node);
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
