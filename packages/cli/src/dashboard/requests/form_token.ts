import { cookieIn, cookieOf } from "./cookies.ts";
import { randomHex } from "./responses.ts";

/** The cookie that holds the token of a browser. */
const COOKIE = "holdfast_dashboard";

/** The field of a form that repeats the token. */
export const TOKEN_FIELD = "token";

/** Returns the token of the browser that sent a request, if it has one. */
export function tokenOf(request: Request): string | undefined {
  return /^[0-9a-f]{32}$/.exec(cookieIn(request, COOKIE) ?? "")?.[0];
}

/**
 * Returns a token for a form, and the header that gives it to the browser as a cookie. Only requests of the dashboard's
 * own pages carry the cookie, and no script can read it, so that no other site can make a form with the token. The
 * server stores nothing: another process of the same service can check it.
 */
export function giveToken(request: Request, base: string): { readonly token: string; readonly header: string } {
  const token = tokenOf(request) ?? randomHex();
  return { token, header: cookieOf(request, base, COOKIE, token) };
}

/** Returns the reason to refuse a form that may come from elsewhere; `undefined` if it comes from the dashboard. */
export function foreignForm(request: Request, token: string | null): string | undefined {
  if (!isSameOrigin(request)) return "the request comes from another site";
  const expected = tokenOf(request);
  if (expected === undefined) return "the browser sent no cookie of the dashboard";
  if (token === null || !isEqual(token, expected)) return "the form is not one that this browser got";
  return undefined;
}

/** Returns whether the browser says that a page of the same origin sent the request. */
function isSameOrigin({ headers, url }: Request): boolean {
  // Browsers set it themselves, and proxies do not change it. They leave it out on http, but for this machine.
  const site = headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin";
  const origin = headers.get("origin") ?? "";
  // The scheme is not compared: a proxy that ends TLS passes http on.
  return URL.canParse(origin) && [headers.get("host"), new URL(url).host].includes(new URL(origin).host);
}

/** Compares two texts in a time that does not tell how much is equal. */
function isEqual(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i % b.length);
  return difference === 0;
}
