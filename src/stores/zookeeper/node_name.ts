import { base64Of, textOfBase64 } from "../../internal/base64.ts";

/** The longest name that is kept as it is, in bytes: of a longer one the hash is the name of the node. */
const LONGEST_BYTES = 200;

/** What the name of a node begins with that is a hash: no base64url has a colon. */
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

/** Returns what orders a node among others: as the names of the locks, the hashes at the end; `undefined` if it has no lock. */
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
    // Others may be there that only look like it.
    return base64url(base64Of(name)) === node ? name : undefined;
  } catch {
    return undefined;
  }
}
