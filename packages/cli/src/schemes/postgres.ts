import { postgresPatient } from "../doctor/postgres.ts";
import { shown } from "../terminal/shown.ts";
import { type Address, hostAndPort } from "./address.ts";
import { loadClientLibrary } from "./client_library.ts";
import type { PostgresJsClient } from "@holdfast/lock/postgres";
import { runPostgres } from "./postgres_rows.ts";
import { type ConnectedStore, type Places, servers } from "./servers.ts";
import { partsOf } from "./url_parts.ts";

const FORM = { example: "postgres://app@127.0.0.1:5432/shop", port: 5432, one: "only one server may write" };

/** How long a connection may take, in seconds. */
const CONNECT_S = 3;

/** How long a connection may take to close, in seconds. */
const CLOSE_S = 1;

/** The used part of the package `postgres`. */
interface PostgresModule {
  readonly default: (url: string, options: object) => PostgresJsClient & { end(options: object): Promise<void> };
}

/** The parts of a URL. */
interface PostgresPlace {
  readonly url: string;
  readonly addresses: readonly Address[];
  readonly label: string;
  readonly table: { readonly schema?: string; readonly table?: string };
  /** Whether to expect notifications over this URL: behind a pooler there are none. */
  readonly listen: boolean;
}

/** Opens PostgreSQL databases. */
export const postgres = servers({
  protocols: ["postgres:", "postgresql:"],
  example: FORM.example,
  read: readPostgresUrl,
  connect,
});

async function connect([{ url, table, listen, label }]: Places<PostgresPlace>): Promise<ConnectedStore> {
  const { default: connected } = await loadClientLibrary<PostgresModule>({
    of: "PostgreSQL",
    name: "postgres",
    version: "^3.4",
  });
  const { postgres } = await import("@holdfast/lock/postgres");
  const client = connected(url, {
    max: 4,
    // Or it sends a query of its own on each connection. If that connection breaks, nothing handles the rejection.
    "fetch_types": false,
    "connect_timeout": CONNECT_S,
    onnotice: () => {},
    connection: { "application_name": "holdfast-cli" },
  });
  const store = postgres(client, { ...table, listen });
  const close = () => client.end({ timeout: CLOSE_S });
  return {
    store,
    partial: () => standby(client, label),
    patient: () => postgresPatient(client, store, { label, listen, close }),
    close,
  };
}

/** Resolves to a warning that a standby may be behind; to `undefined` for a primary. */
async function standby(client: PostgresJsClient, label: string): Promise<string | undefined> {
  const [[inRecovery] = []] = await runPostgres(client, "SELECT pg_is_in_recovery()::text");
  if (inRecovery !== "true") return undefined;
  return `${label} is a standby, and lists what it has received: use the URL of the primary`;
}

/** Reads a URL: the part for the client, and our own parameters. */
export function readPostgresUrl(url: URL): PostgresPlace {
  const { addresses, parameters: { schema, table, listen = "true" }, fail } = partsOf(url, FORM);
  if (!/^(true|false)$/.test(listen)) throw fail(`has listen=${shown(listen)}, which is true or false`);
  const own = new URL(url);
  for (const name of ["schema", "table", "listen"]) own.searchParams.delete(name);
  return {
    url: own.href,
    addresses,
    label: `postgres://${addresses.map(hostAndPort)}${url.pathname}`,
    table: { ...schema === undefined ? {} : { schema }, ...table === undefined ? {} : { table } },
    listen: listen === "true",
  };
}
