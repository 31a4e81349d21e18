import { reason } from "@holdfast/lock/authors";
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { UsageError } from "../command.ts";
import { deniedPermissions } from "../permissions.ts";
import { permissionFor } from "../doctor/deno_permissions.ts";
import type { Examination } from "../doctor/examination.ts";
import { sqlitePatient } from "../doctor/sqlite.ts";
import type { OpenedStore, OpenOptions, Scheme, StoreUrls } from "./scheme.ts";
import { shown } from "../terminal/shown.ts";
import { decoded, failFor } from "./url_parts.ts";

const EXAMPLE = "sqlite:path/to/locks.db";

/** Opens SQLite files. */
export const sqlite: Scheme = {
  protocols: ["sqlite:"],
  example: EXAMPLE,
  open,
  examination,
};

async function open([url]: StoreUrls, { existing = false }: OpenOptions = {}): Promise<OpenedStore> {
  const path = readSqliteUrl(url);
  await checkPermissions(path);
  if (existing) checkExists(path);
  const { sqlite } = await import("@holdfast/lock/sqlite");
  let store;
  try {
    store = sqlite(path);
  } catch (error) {
    throw new UsageError(reason(error), { cause: error });
  }
  return { store, label: `sqlite:${path}`, [Symbol.asyncDispose]: () => Promise.resolve(store.close()) };
}

function examination([url]: StoreUrls): Examination {
  const path = readSqliteUrl(url);
  return {
    permissions: [
      permissionFor("read", path, "The file cannot be opened."),
      permissionFor("write", path, "No lock can be written."),
    ],
    async open() {
      await checkFolderPermissions(dirname(path));
      checkExists(path);
      const { sqlite } = await import("@holdfast/lock/sqlite");
      return sqlitePatient(path, sqlite(path));
    },
  };
}

/** Reads a URL such as `sqlite:path/to/locks.db`: the path of the file. */
export function readSqliteUrl(url: URL): string {
  const fail = failFor(url.href, EXAMPLE);
  if (url.host !== "") throw fail("has a host");
  if (url.search !== "") throw fail("has a ?: write it as %3F");
  if (url.hash !== "") throw fail("has a #: write it as %23");
  const path = decoded(url.pathname, fail);
  if (path === "") throw fail("has no path");
  if (path === ":memory:") throw fail("is the memory of this process, in which nobody else has locks");
  return path;
}

function checkExists(path: string): void {
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return;
  throw new UsageError(`there is no file ${shown(path)}: it is made by the first program that acquires a lock in it`);
}

async function checkPermissions(path: string): Promise<void> {
  const denied = await deniedPermissions([{ name: "read", of: path }, { name: "write", of: path }]);
  if (denied.length > 0) throw new UsageError(`Deno denies access to the file: run with ${denied.join(" ")}`);
}

/** Throws unless the folder can be examined. A program that only locks does not need these permissions. */
async function checkFolderPermissions(folder: string): Promise<void> {
  const sys = ["uid", "gid", "statfs"].map((of) => ({ name: "sys", of } as const));
  const denied = await deniedPermissions([{ name: "read", of: folder }, ...sys]);
  if (denied.length > 0) {
    throw new UsageError(`Deno denies a look at the folder of the file: run with ${denied.join(" ")}`);
  }
}
