import { UsageError } from "../command.ts";
import type { Scheme } from "./scheme.ts";
import { shown } from "../terminal/shown.ts";
import { redis } from "./redis.ts";
import { sqlite } from "./sqlite.ts";

/** The technologies that the command line can open. */
export const SCHEMES: readonly Scheme[] = [redis, sqlite];

/**
 * Returns what opens the stores of these URLs together.
 *
 * @throws {UsageError} if no technology has such URLs, or they belong to several
 */
export function schemeOf(urls: readonly URL[]): Scheme {
  const schemes = urls.map(({ protocol }) => {
    const scheme = SCHEMES.find(({ protocols }) => protocols.includes(protocol));
    if (scheme !== undefined) return scheme;
    const known = SCHEMES.flatMap(({ protocols }) => protocols).join(" ");
    throw new UsageError(`no store has URLs that begin with ${shown(protocol)} (known: ${known})`);
  });
  const [scheme] = schemes;
  if (scheme === undefined || schemes.some((each) => each !== scheme)) {
    throw new UsageError("several stores must be Redis servers, of which the lock is held on a majority (Redlock)");
  }
  return scheme;
}
