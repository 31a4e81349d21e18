import { UsageError } from "../command.ts";
import { DEFAULT_CONFIG, readConfig } from "../arguments/config_file.ts";
import type { Environment } from "../arguments/environment.ts";
import { shown } from "../terminal/shown.ts";
import type { StoreUrls } from "./scheme.ts";

/** The environment variable with the URL of the store, or several URLs. */
const VARIABLE = "HOLDFAST_STORE";

/** The sources of the store's URL, in this order: the option, the environment, the config file. */
export interface StoreSources {
  /** The values of `--store`. */
  readonly stores: readonly string[];
  /** The path of `--config`. */
  readonly config: string | undefined;
  readonly env: Environment;
}

/**
 * Returns the URLs of the stores from the first source that has some.
 *
 * @throws {UsageError} if no source has a URL, or the URL is wrong
 */
export async function findStoreUrls({ stores, config, env }: StoreSources): Promise<StoreUrls> {
  if (stores.length > 0) return storeUrls(stores, "--store");
  const variable = env[VARIABLE]?.trim() ?? "";
  if (config === undefined && variable !== "") return storeUrls(split(variable), VARIABLE);
  const found = await readConfig(config);
  const urls = storeUrls(found?.stores ?? [], shown(found?.path ?? DEFAULT_CONFIG));
  for (const { searchParams } of urls) {
    if (found?.prefix !== undefined && !searchParams.has("prefix")) searchParams.set("prefix", found.prefix);
  }
  return urls;
}

function storeUrls(texts: readonly string[], source: string): StoreUrls {
  const [first, ...others] = texts.map((text) => storeUrl(text, source));
  if (first !== undefined) return [first, ...others];
  throw new UsageError(
    `no store: give --store URL, such as redis://127.0.0.1:6379, or set ${VARIABLE}, or write ${DEFAULT_CONFIG}`,
  );
}

/**
 * Parses the URL of a store. `new URL` takes only one host: the further hosts, such as Sentinels, become parameters
 * `host`, see {@linkcode hostsOf}.
 */
export function storeUrl(text: string, source: string): URL {
  const [, before = "", hosts = "", behind = ""] =
    /^([a-z][a-z\d+.-]*:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/is.exec(text) ?? [];
  const [first = "", ...others] = hosts.split(",");
  const url = parse(before === "" ? text : before + first + behind);
  if (url === undefined) {
    throw new UsageError(`${source} must be a URL such as redis://127.0.0.1:6379: got ${shown(withoutSecrets(text))}`);
  }
  for (const host of others) url.searchParams.append("host", host);
  return url;
}

/** Returns the hosts of a URL, with the ports that it gives; no hosts for a URL without any. */
export function hostsOf(url: URL): string[] {
  return [url.host, ...url.searchParams.getAll("host")].filter((host) => host !== "");
}

/** Returns a URL for messages: without user, password and parameters. */
export function labelOf(url: URL): string {
  const hosts = hostsOf(url);
  return url.protocol + (hosts.length > 0 ? `//${hosts.join(",")}` : "") + url.pathname.replace(/^\/$/, "");
}

/**
 * Returns the parts of a variable. A new URL begins after a space or comma; paths and lists of hosts contain them too.
 */
function split(text: string): string[] {
  return text.split(/[\s,]+(?=[a-z][a-z\d+.-]*:\/\/)/i).map((part) => part.trim());
}

function parse(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** Hides the user, the password, and parameters that are passwords. */
function withoutSecrets(text: string): string {
  return text.replace(/\/\/.*@/s, "//…@").replace(/(password=)[^&]*/gi, "$1…");
}
