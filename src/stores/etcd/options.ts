import { checkKeys, show } from "../../internal/validation.ts";
import { type CasOptions, refuseClockSkew } from "../../engine/options.ts";

/** A request to a member of the cluster. */
export interface EtcdRequest {
  /** Always `POST`. */
  readonly method: "POST";
  /** The headers, among them the token of the user. */
  readonly headers: Readonly<Record<string, string>>;
  /** A text in JSON. */
  readonly body: string;
  /** Aborts when the answer is no longer wanted. */
  readonly signal: AbortSignal;
}

/** The part of a response that the store uses. */
export interface EtcdResponse {
  /** The status of HTTP. */
  readonly status: number;
  /** The body as a stream. */
  readonly body: ReadableStream<Uint8Array> | null;
  /** Reads the whole body. */
  text(): Promise<string>;
}

/** Sends a request, as `fetch` does. */
export type EtcdFetch = (url: string, request: EtcdRequest) => Promise<EtcdResponse>;

/** The options of `etcd()`. */
export interface EtcdOptions extends Pick<CasOptions, "observer"> {
  /** The client URLs of members of the cluster, such as `http://10.0.0.1:2379`; the first member is asked first. */
  readonly endpoints: readonly string[];
  /**
   * The user, with the option `password`. Left out where authentication is off, or where certificates name the user.
   */
  readonly username?: string | undefined;
  /** The password of the user. */
  readonly password?: string | undefined;
  /**
   * A token in place of a user and a password, or a function that returns a new token, called when the last has
   * expired.
   */
  readonly token?: string | (() => string | PromiseLike<string>) | undefined;
  /** Sends the requests; the global `fetch` when left out. A function of your own can present a certificate. */
  readonly fetch?: EtcdFetch | undefined;
  /** The prefix of each key, before the name of the lock; `"holdfast/"` when left out. */
  readonly prefix?: string | undefined;
}

/** How the store logs in: with a password, with a token, or not at all. */
export type EtcdLogin =
  | { readonly by: "password"; readonly name: string; readonly password: string }
  | { readonly by: "token"; readonly token: () => string | PromiseLike<string> }
  | { readonly by: "nobody" };

/** The options, checked and with their defaults. */
export interface EtcdSettings {
  readonly endpoints: readonly string[];
  readonly login: EtcdLogin;
  readonly fetch: EtcdFetch;
  readonly prefix: string;
  readonly engine: CasOptions;
}

const EXAMPLE = "http://127.0.0.1:2379";

const KNOWN = ["endpoints", "username", "password", "token", "fetch", "prefix", "observer"];

/** Checks the options, and separates the engine's options. */
export function checkEtcdOptions(options: EtcdOptions): EtcdSettings {
  refuseClockSkew(options);
  const { endpoints, username, password, token, fetch: own, prefix = "holdfast/", ...engine } = checkKeys(
    options,
    KNOWN,
  );
  if (!Array.isArray(endpoints)) throw new TypeError(`endpoints must be an array of URLs: got ${show(endpoints)}`);
  if (endpoints.length === 0) throw new RangeError(`endpoints must not be empty: give one such as ${EXAMPLE}`);
  if (own !== undefined && typeof own !== "function") throw new TypeError(`fetch must be a function: got ${show(own)}`);
  if (typeof prefix !== "string" || !prefix.isWellFormed()) {
    throw new TypeError(`prefix must be a string of well-formed Unicode: got ${show(prefix)}`);
  }
  if (prefix === "") {
    throw new RangeError('prefix must not be empty: got "". All keys of the cluster would be under it');
  }
  return {
    endpoints: endpoints.map(checkEndpoint),
    login: checkLogin(username, password, token),
    // Not as a method: some runtimes refuse that.
    fetch: own ?? ((url, request) => fetch(url, request)),
    prefix,
    engine,
  };
}

function checkEndpoint(endpoint: unknown): string {
  const url = typeof endpoint === "string" && /^https?:\/\//i.test(endpoint) && URL.canParse(endpoint)
    ? new URL(endpoint)
    : undefined;
  const wanted = `an endpoint must be a URL such as ${EXAMPLE}`;
  if (url === undefined) throw new TypeError(`${wanted}: got ${show(endpoint)}`);
  if (url.username !== "" || url.password !== "") {
    throw new TypeError(`${wanted}, without a user: give the options username and password`);
  }
  if (url.search !== "" || url.hash !== "") throw new TypeError(`${wanted}, without ? and #: got ${show(endpoint)}`);
  return url.href.replace(/\/+$/, "");
}

function checkLogin(
  name: EtcdOptions["username"],
  password: EtcdOptions["password"],
  token: EtcdOptions["token"],
): EtcdLogin {
  if (token !== undefined) {
    if (name !== undefined || password !== undefined) throw new TypeError("token takes the place of a user: give one");
    if (typeof token === "function") return { by: "token", token };
    if (typeof token === "string" && token !== "") return { by: "token", token: () => token };
    throw new TypeError(`token must be a text that is not empty, or a function that returns one: got ${show(token)}`);
  }
  if (name === undefined && password === undefined) return { by: "nobody" };
  if (typeof name === "string" && name !== "" && typeof password === "string") {
    return { by: "password", name, password };
  }
  throw new TypeError("username and password must be given together, as texts");
}
