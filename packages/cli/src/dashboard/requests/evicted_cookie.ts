import { handleName } from "../../display/entries.ts";
import type { ListedLock } from "../../listing/locks.ts";
import { cookieIn, cookieOf } from "./cookies.ts";

/**
 * The cookie that tells the page after an eviction which holders lost the lock. In the address, anybody could forge
 * them.
 */
const COOKIE = "holdfast_dashboard_evicted";

/** The life of the cookie, in seconds. */
const MAX_AGE_S = 60;

/** How many holders the cookie names, and the most characters of each: a browser takes 4,096 bytes. */
const MOST_HOLDERS = 3;
const MAX_LENGTH = 100;

/** A holder that lost a lock. */
export interface FormerHolder {
  readonly who: string;
  readonly fence?: string | undefined;
}

/** Returns the header with the cookie, for the holders that were evicted. */
export async function evictedHeader(request: Request, base: string, { name, held }: ListedLock): Promise<string> {
  const holders = held.slice(0, MOST_HOLDERS).map((holder): FormerHolder => {
    return { who: handleName(holder).slice(0, MAX_LENGTH).toWellFormed(), fence: holder.fence?.toString() };
  });
  const value = `${await digestOf(name)}.${encodeURIComponent(JSON.stringify(holders))}`;
  return `${cookieOf(request, base, COOKIE, value)}; Max-Age=${MAX_AGE_S}`;
}

/** Returns the holders that lost a lock in the eviction that has just led to its page, as far as the browser knows. */
export async function formerHolders(request: Request, name: string): Promise<readonly FormerHolder[]> {
  const [digest, value = ""] = cookieIn(request, COOKIE)?.split(".") ?? [];
  return digest === await digestOf(name) ? parse(value) : [];
}

/** Parses the cookie. Another site of the same domain may have written it: it may be anything. */
function parse(value: string): readonly FormerHolder[] {
  try {
    const holders: unknown = JSON.parse(decodeURIComponent(value));
    return Array.isArray(holders) ? holders.map(({ who, fence }) => ({ who: String(who), fence })) : [];
  } catch {
    return [];
  }
}

/** Returns a short text for a name, which may be too long for a cookie. */
async function digestOf(name: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(name));
  return Array.from(new Uint8Array(digest, 0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
