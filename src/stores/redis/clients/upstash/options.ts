import { checkKeys, show } from "../../../../internal/validation.ts";

/** A request to the database. */
export interface UpstashRequest {
  /** `POST` of a command, `GET` of an event stream. */
  readonly method: "POST" | "GET";
  /** The headers, among them the token. */
  readonly headers: Readonly<Record<string, string>>;
  /** A command as an array in JSON. */
  readonly body?: string;
  /** A redirection is an error: the token must not go elsewhere. */
  readonly redirect: "manual";
  /** Aborts when the answer is no longer wanted. */
  readonly signal: AbortSignal;
}

/** The part of a response that is used. */
export interface UpstashResponse {
  /** The status of HTTP. */
  readonly status: number;
  /** Reads the whole body. */
  text(): Promise<string>;
  /** The body as a stream of bytes. Waiters poll without it. */
  readonly body?: unknown;
}

/** Sends a request, as `fetch` does. */
export type UpstashFetch = (url: string, request: UpstashRequest) => Promise<UpstashResponse>;

/** The options of `upstash()`. */
export interface UpstashOptions {
  /** The HTTPS URL of the database, `UPSTASH_REDIS_REST_URL` in the console. */
  readonly url: string;
  /** Its token, `UPSTASH_REDIS_REST_TOKEN`, not the read-only token. */
  readonly token: string;
  /** Sends the requests; the global `fetch` when left out. */
  readonly fetch?: UpstashFetch | undefined;
}

/** The options, checked and complete. */
export type UpstashSettings = Readonly<Required<Omit<UpstashOptions, "fetch">>> & { readonly fetch: UpstashFetch };

/** Checks the options. */
export function checkUpstashOptions(options: UpstashOptions): UpstashSettings {
  const { url, token, fetch: own } = checkKeys(options, ["url", "token", "fetch"]);
  if (typeof token !== "string" || !/^[!-~]+$/.test(token)) {
    throw new TypeError("token must be a text without spaces: copy UPSTASH_REDIS_REST_TOKEN of the database");
  }
  if (own !== undefined && typeof own !== "function") throw new TypeError(`fetch must be a function: got ${show(own)}`);
  // Not as a method: some runtimes refuse that.
  return { url: checkUrl(url), token, fetch: own ?? ((url, request) => fetch(url, request)) };
}

function checkUrl(text: unknown): string {
  const wanted = "url must be one such as https://us1-merry-cat-32748.upstash.io";
  if (typeof text !== "string" || !/^https?:\/\//i.test(text) || !URL.canParse(text)) {
    // It may be the URL of the same database for clients with a socket, with the password in it.
    const got = typeof text === "string" ? text.replace(/\/\/.*@/, "//***@") : text;
    throw new TypeError(`${wanted}: got ${show(got)}`);
  }
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") {
    throw new TypeError(`${wanted}, without a user: give the option token`);
  }
  if (url.search !== "" || url.hash !== "") {
    throw new TypeError(`${wanted}, without ? and #: got ${show(url.origin + url.pathname)} and more`);
  }
  return url.href.replace(/\/+$/, "");
}
