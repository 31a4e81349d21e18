import { StoreError } from "../../errors.ts";
import { within } from "../../internal/lease/release.ts";
import { hexOf } from "../../internal/sql/hex.ts";
import { SystemClock } from "../../internal/time/clock.ts";
import type { Store } from "../../store.ts";
import type { Examined, Patient } from "./examination.ts";
import { error, type Finding, ok, warning } from "./finding.ts";
import { ANSWER_MS, unreachable } from "./unreachable.ts";

const CLOCK = new SystemClock();

/** What is used of a pool of mysql2, with promises. */
export interface ExaminedPool {
  query(statement: string, values?: readonly unknown[]): Promise<readonly [rows: readonly object[], ...unknown[]]>;
}

/** What else is known of the server. */
export interface MysqlServer {
  readonly store: Store;
  readonly label: string;
  readonly table: string;
  /** Closes the pool. */
  close(): Promise<void>;
}

/** The settings of a server, by name. */
type MysqlVariables = ReadonlyMap<string, string>;

const VARIABLES = "SHOW VARIABLES WHERE Variable_name IN " +
  "('version', 'autocommit', 'read_only', 'innodb_flush_log_at_trx_commit')";

/** In microseconds since 1970, whatever the time zone. */
const NOW = "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AS now";

/** Returns a database of MySQL or MariaDB, to examine it. */
export function mysqlPatient(pool: ExaminedPool, { store, label, table, close }: MysqlServer): Patient {
  return {
    store,
    advice: {
      failed: () => undefined,
      unwoken: "Look for a transaction that has locked rows of the table for seconds.",
    },
    examine: () => examineServer(pool, store, label),
    remove: (name) => pool.query("DELETE FROM ?? WHERE name = UNHEX(?)", [table, hexOf(name)]),
    [Symbol.asyncDispose]: close,
  };
}

async function examineServer(pool: ExaminedPool, store: Store, label: string): Promise<Examined> {
  let settings: MysqlVariables;
  try {
    const [rows] = await within(ANSWER_MS, pool.query(VARIABLES), CLOCK);
    settings = new Map(rows.map((row) => Object.values(row).map(String) as [string, string]));
  } catch (fault) {
    return { findings: [unreachable(store, fault)], futile: true };
  }
  const judged = judgeSettings(settings);
  const table = judged.some(({ level }) => level === "error") ? undefined : await examineTable(store);
  const findings = table === undefined ? judged : [...judged, table];
  const now = async () => {
    const [[row]] = await pool.query(NOW);
    return Number((row as { readonly now: unknown }).now) / 1_000;
  };
  return { findings, clocks: [{ label, now }], futile: findings.some(({ level }) => level === "error") };
}

/** Judges the settings of a server. */
export function judgeSettings(settings: MysqlVariables): Finding[] {
  const of = (name: string) => settings.get(name) ?? "";
  return [
    judgeVersion(of("version")),
    judgeRole(of("read_only")),
    judgeAutocommit(of("autocommit")),
    judgeFlush(
      of("innodb_flush_log_at_trx_commit"),
    ),
  ];
}

function judgeVersion(version: string): Finding {
  if (/mariadb/i.test(version)) return ok("version", version, "The store is tested on MariaDB 10.11.");
  const meaning = "The statements are written for MySQL 8 as well, but were only run on MariaDB.";
  return warning("version", `MySQL ${version}`, meaning, "Try your locks under load before you rely on them.");
}

function judgeRole(readOnly: string): Finding {
  if (!/^(ON|1)$/.test(readOnly)) return ok("role", `read_only ${readOnly}`, "The server accepts writes.");
  return error(
    "role",
    `read_only ${readOnly}`,
    "The server is a replica, or was set to read only: nobody can acquire a lock there.",
    "Use the URL of the primary.",
  );
}

function judgeAutocommit(autocommit: string): Finding {
  if (autocommit === "ON") return ok("autocommit", "autocommit ON", "Each statement is a transaction.");
  return error(
    "autocommit",
    `autocommit ${autocommit}`,
    "What a connection writes is not done until somebody commits: the store refuses such connections.",
    "Turn autocommit on, for the server or for the pools of your programs.",
  );
}

function judgeFlush(flush: string): Finding {
  const found = `innodb_flush_log_at_trx_commit ${flush}`;
  if (flush === "1") return ok("persistence", found, "A crash forgets no lock.");
  return warning(
    "persistence",
    found,
    "A crash of the machine forgets the locks of the last second: others are granted them at once.",
    "Set innodb_flush_log_at_trx_commit to 1, or check the fence.",
  );
}

/** Looks at the table, which the store makes if it is missing. */
async function examineTable(store: Store): Promise<Finding | undefined> {
  try {
    await within(ANSWER_MS, store.query!({ limit: 1 }), CLOCK);
    return ok("layout", "the table is there", "It is as this version of the store makes it.");
  } catch (fault) {
    // What else may be wrong is found by the lock that is tried.
    if (!(fault instanceof StoreError) || !fault.permanent) return undefined;
    const { message } = fault;
    if (/cannot keep locks/.test(message)) {
      return error(
        "layout",
        message,
        "No lock can be acquired in this table.",
        "Make the table that the message shows.",
      );
    }
    return error("rights", message, "Nobody can acquire a lock there.", "Run the statements of the message.");
  }
}
