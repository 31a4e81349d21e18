import { reason } from "@holdfast/lock/authors";
import { readFile } from "node:fs/promises";
import { UsageError } from "../command.ts";
import { oneLine, shown } from "../terminal/shown.ts";

/** The config file of the working directory. */
export const DEFAULT_CONFIG = "holdfast.json";

const EXAMPLE = '{ "store": "redis://127.0.0.1:6379" }';

/** The contents of a config file. */
export interface Config {
  readonly path: string;
  /** The URLs of the store; several URLs are a quorum. */
  readonly stores: readonly string[];
  /** The prefix of the names of locks, for URLs without a prefix. */
  readonly prefix: string | undefined;
}

/**
 * Reads a config file. `undefined` if no path is given, and the file of the working directory is missing.
 *
 * @throws {UsageError} if the file cannot be read, Deno denies it, or its contents are wrong
 */
export async function readConfig(path?: string): Promise<Config | undefined> {
  const file = path ?? DEFAULT_CONFIG;
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    const { code, name } = Object(error);
    if (path === undefined && code === "ENOENT") return undefined;
    if (path === undefined && name === "NotCapable") {
      throw new UsageError(
        `no store: give --store URL, or run with --allow-read=${file}, so that Deno lets the config file be read`,
      );
    }
    throw new UsageError(`cannot read ${shown(file)}: ${oneLine(reason(error))}`);
  }
  return { path: file, ...parse(text, (what) => new UsageError(`${shown(file)} ${what}: write ${EXAMPLE}`)) };
}

function parse(text: string, fail: (what: string) => UsageError): Pick<Config, "stores" | "prefix"> {
  let config: unknown;
  try {
    config = JSON.parse(text);
  } catch {
    throw fail("is not JSON");
  }
  if (Object.prototype.toString.call(config) !== "[object Object]") throw fail("is not an object");
  const { store, prefix, ...others } = config as Record<string, unknown>;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw fail(`has the key ${shown(unknown)}; known are store and prefix`);
  if (prefix !== undefined && typeof prefix !== "string") throw fail("has a prefix that is not a string");
  const stores: unknown[] = Array.isArray(store) ? store : [store];
  if (stores.length === 0 || !stores.every((each) => typeof each === "string")) throw fail("has no URL as its store");
  return { stores: stores as string[], prefix };
}
