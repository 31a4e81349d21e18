import type { PostgresClient, PostgresOptions } from "@holdfast/lock/postgres";
import { runPostgres } from "../../../src/internal/sql/postgres_client.ts";
import { type Clock, SystemClock } from "../../../src/time/clock.ts";
import { type LockDocument, parseDocument } from "../../../src/engine/document.ts";
import { CasStore } from "../../../src/engine/store.ts";
import { checkPostgresOptions } from "../../../src/stores/postgres/options.ts";
import { PostgresBackend } from "../../../src/stores/postgres/store.ts";

/** How long a connection is kept that listens, in milliseconds: the tests wait for its end. */
const LINGER_MS = 20;

/** Makes the store that `postgres()` hands on the locks of. */
export function storeOver(
  client: PostgresClient,
  options: PostgresOptions,
  clock: Clock = new SystemClock(),
): CasStore {
  const settings = checkPostgresOptions(client, options);
  const { maxClockSkew = 10_000, observer } = settings.engine;
  return new CasStore(new PostgresBackend(client, settings, clock, LINGER_MS), { maxClockSkew, observer }, clock);
}

/** Returns the names of the locks in a table that are held or waited for. */
export async function usedIn(client: PostgresClient, schema: string, table = "holdfast_locks"): Promise<string[]> {
  const documents = await documentsIn(client, schema, table);
  return [...documents].filter(([, document]) => !document.unused).map(([name]) => name);
}

/** Returns the documents in a table, by their names. */
export async function documentsIn(
  client: PostgresClient,
  schema: string,
  table = "holdfast_locks",
): Promise<Map<string, LockDocument>> {
  const [[isThere] = []] = await runPostgres(client, `SELECT (to_regclass('${schema}.${table}') IS NOT NULL)::text`);
  if (isThere !== "true") return new Map();
  const rows = await runPostgres(client, `SELECT value FROM ${schema}.${table}`);
  return new Map(rows.map(([value]) => {
    const { name } = JSON.parse(String(value));
    return [name, parseDocument(name, String(value))];
  }));
}

/** Returns a client that notes each statement before it is sent. */
export function recording(client: PostgresClient): { readonly client: PostgresClient; readonly statements: string[] } {
  const statements: string[] = [];
  const query = async (text: string) => {
    statements.push(text);
    return { rows: await runPostgres(client, text) };
  };
  return { client: { query }, statements };
}
