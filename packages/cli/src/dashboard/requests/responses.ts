import type { Html } from "../pages/html.ts";

/** The headers of every response: who may cache it, and what a browser must not do with it. */
export const HEADERS: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  // Not "no-referrer": a form of such a page says that it comes from nowhere, and could not be told from a foreign one.
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

/** Returns a page of HTML. Only the script and the style with the nonce of the response work in it. */
export function htmlResponse(page: Html, nonce: string, status = 200, headers: Record<string, string> = {}): Response {
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "img-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  return new Response(page.text, {
    status,
    headers: {
      ...HEADERS,
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policy.join("; "),
      ...headers,
    },
  });
}

/** Returns a document of JSON. */
export function jsonResponse(document: unknown, status = 200): Response {
  return new Response(`${JSON.stringify(document)}\n`, {
    status,
    headers: { ...HEADERS, ...CLOSED, "content-type": "application/json; charset=utf-8" },
  });
}

/** Returns a file that the pages load. */
export function assetResponse(text: string, type: string): Response {
  return new Response(text, { headers: { ...HEADERS, ...CLOSED, "cache-control": "no-cache", "content-type": type } });
}

/** The policy of responses that are no pages: they can do nothing if a browser shows them. */
const CLOSED = { "content-security-policy": "default-src 'none'; frame-ancestors 'none'" };

/** Returns a number of 128 bits that nobody can guess, in hexadecimal digits. */
export function randomHex(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
