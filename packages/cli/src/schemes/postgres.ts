import { UsageError } from "../command.ts";
import type { Examination } from "../doctor/examination.ts";
import { postgresPatient } from "../doctor/postgres.ts";
import { shown } from "../terminal/shown.ts";
import { type Address, addressOf, checkNetwork, hostAndPort, networkPermission } from "./address.ts";
import { loadClientLibrary } from "./client_library.ts";
import type { OpenedStore, Scheme, StoreUrls } from "./scheme.ts";
import type { PostgresJsClient } from "@holdfast/lock/postgres";
import { runPostgres } from "./postgres_rows.ts";

const EXAMPLE = "postgres://app@127.0.0.1:5432/shop";
const DEFAULT_PORT = 5432;

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
  readonly address: Address;
  readonly label: string;
  readonly table: { readonly schema?: string; readonly table?: string };
  /** Whether to expect notifications over this URL: behind a pooler there are none. */
  readonly listen: boolean;
}

/** Opens PostgreSQL databases. */
export const postgres: Scheme = {
  protocols: ["postgres:", "postgresql:"],
  example: EXAMPLE,
  open,
  examination,
};

async function open([url]: StoreUrls): Promise<OpenedStore> {
  const place = readPostgresUrl(url);
  await checkNetwork([place.address]);
  const { client, store, close } = await connected(place);
  const { label } = place;
  return { store, label, partial: () => standby(client, label), [Symbol.asyncDispose]: close };
}

function examination([url]: StoreUrls): Examination {
  const place = readPostgresUrl(url);
  return {
    permissions: [networkPermission(place.address)],
    async open() {
      const { client, store, close } = await connected(place);
      return postgresPatient(client, store, { label: place.label, listen: place.listen, close });
    },
  };
}

/** Resolves to a warning that a standby may be behind; to `undefined` for a primary. */
async function standby(client: PostgresJsClient, label: string): Promise<string | undefined> {
  const [[inRecovery] = []] = await runPostgres(client, "SELECT pg_is_in_recovery()::text");
  if (inRecovery !== "true") return undefined;
  return `${label} is a standby, and lists what it has received: use the URL of the primary`;
}

async function connected({ url, table, listen }: PostgresPlace) {
  const { default: connect } = await loadClientLibrary<PostgresModule>({
    of: "PostgreSQL",
    name: "postgres",
    version: "^3.4",
  });
  const { postgres } = await import("@holdfast/lock/postgres");
  const client = connect(url, {
    max: 4,
    // Or it sends a query of its own on each connection. If that connection breaks, nothing handles the rejection.
    "fetch_types": false,
    "connect_timeout": CONNECT_S,
    onnotice: () => {},
    connection: { "application_name": "holdfast-cli" },
  });
  return { client, store: postgres(client, { ...table, listen }), close: () => client.end({ timeout: CLOSE_S }) };
}

/** Reads a URL: the part for the client, and our own parameters. */
export function readPostgresUrl(url: URL): PostgresPlace {
  const fail = (what: string) => {
    return new UsageError(`the URL postgres://${shown(`${url.host}${url.pathname}`)} ${what}: write ${EXAMPLE}`);
  };
  if (url.hostname === "") throw fail("has no host");
  const address = addressOf(url.host, DEFAULT_PORT, fail);
  const own = new URL(url);
  const take = (name: string) => {
    const value = own.searchParams.get(name) ?? undefined;
    own.searchParams.delete(name);
    return value;
  };
  const [schema, table, listen = "true"] = [take("schema"), take("table"), take("listen")];
  if (!/^(true|false)$/.test(listen)) throw fail(`has listen=${shown(listen)}, which is true or false`);
  return {
    url: own.href,
    address,
    label: `postgres://${hostAndPort(address)}${url.pathname}`,
    table: { ...schema === undefined ? {} : { schema }, ...table === undefined ? {} : { table } },
    listen: listen === "true",
  };
}
