import { UsageError } from "../command.ts";
import { shown } from "../terminal/shown.ts";
import type { Address } from "./address.ts";
import { hostsOf, labelOf } from "./store_urls.ts";

/** The form of the URLs of a technology with servers. */
export interface UrlForm {
  /** A right URL: it ends the message about a wrong one. */
  readonly example: string;
  readonly port: number;
  /** The host of a URL that names none; left out where a URL must name one. */
  readonly host?: string;
  /** The reason why a URL names one server; left out where it may name several. */
  readonly one?: string;
  /** The parameters that are known; left out where the client takes others. */
  readonly parameters?: readonly string[];
}

/** The parts of a URL, with their escapes decoded. */
export interface UrlParts {
  /** The URL for messages: without user, password and parameters. */
  readonly label: string;
  readonly addresses: readonly Address[];
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly path: readonly string[];
  readonly parameters: Readonly<Record<string, string | undefined>>;
  readonly fail: Fail;
}

/** Returns the error for a URL with this fault. */
type Fail = (what: string) => UsageError;

/** Returns the function that makes the errors for a URL. The label has no password. */
export function failFor(label: string, example: string): Fail {
  return (what) => new UsageError(`${shown(label)} ${what} (example: ${example})`);
}

/**
 * Reads a URL of this form.
 *
 * @throws {UsageError} which says what is wrong, without the password
 */
export function partsOf(url: URL, { example, port, host, one, parameters }: UrlForm): UrlParts {
  const label = labelOf(url);
  const fail = failFor(label, example);
  const hosts = hostsOf(url);
  if (hosts.length === 0 && host !== undefined) hosts.push(host);
  if (hosts.length === 0) throw fail("has no host");
  if (one !== undefined && url.searchParams.has("host")) throw fail(`has several hosts: ${one}`);
  const other = [...url.searchParams.keys()].find((each) => each !== "host" && parameters?.includes(each) === false);
  if (other !== undefined) throw fail(`has the parameter ${shown(other)}: known are ${parameters!.join(", ")}`);
  if (url.hash !== "") throw fail("has a #: write it as %23");
  return {
    label,
    addresses: hosts.map((each) => addressOf(each, port, fail)),
    username: decoded(url.username, fail) || undefined,
    password: decoded(url.password, fail) || undefined,
    path: url.pathname.split("/").filter((part) => part !== "").map((part) => decoded(part, fail)),
    parameters: Object.fromEntries(url.searchParams),
    fail,
  };
}

/** Reads an address of a URL: `host:port`, or the host alone. */
function addressOf(text: string, defaultPort: number, fail: Fail): Address {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const number = port === undefined ? defaultPort : Number(port);
  if (host === undefined || number < 1 || number > 65_535) {
    throw fail(`has the address ${shown(text)}: write host:port`);
  }
  return { host, port: number };
}

/** Returns a part of a URL, with its escapes decoded. */
export function decoded(text: string, fail: Fail): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw fail("has a % that begins no escape: write it as %25");
  }
}
