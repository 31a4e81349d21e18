import { type Store, StoreError } from "@holdfast/lock";
import { SystemClock } from "../time/clock.ts";
import { within } from "../time/within.ts";
import type { Examined, Patient } from "./examination.ts";
import { type Finding, verdicts } from "./finding.ts";
import { judgeLostConnection } from "./lost_connection.ts";
import { ANSWER_MS, unreachable } from "./unreachable.ts";

const CLOCK = new SystemClock();

/** The used part of a pool of mysql2, with promises. */
export interface ExaminedPool {
  query(statement: string, values?: readonly unknown[]): Promise<readonly [rows: readonly object[], ...unknown[]]>;
}

/** Further knowledge of the server. */
export interface MysqlServer {
  readonly store: Store;
  readonly label: string;
  readonly table: string;
  /** Closes the pool. */
  close(): Promise<void>;
}

const judged = verdicts({
  "version": {
    ok: ["The store is tested on MariaDB 10.11."],
    warning: [
      "The statements are written for MySQL 8 as well, but were only run on MariaDB.",
      "Try your locks under load before you rely on them.",
    ],
  },
  "role": {
    ok: ["The server accepts writes."],
    error: [
      "The server is a replica, or was set to read only: nobody can acquire a lock there.",
      "Use the URL of the primary.",
    ],
  },
  "autocommit": {
    ok: ["Each statement is a transaction."],
    error: [
      "What a connection writes is not done until somebody commits: the store refuses such connections.",
      "Turn autocommit on, for the server or for the pools of your programs.",
    ],
  },
  "persistence": {
    ok: ["A crash forgets no lock."],
    warning: [
      "A crash of the machine forgets the locks of the last second: others are granted them at once.",
      "Set innodb_flush_log_at_trx_commit to 1, or check the fence.",
    ],
  },
  "layout": {
    ok: ["It is as this version of the store makes it."],
    error: ["No lock can be acquired in this table.", "Make the table that the message shows."],
  },
  "rights": { error: ["Nobody can acquire a lock there.", "Run the statements of the message."] },
});

/** The settings of a server, by name. */
type MysqlVariables = ReadonlyMap<string, string>;

const VARIABLES = "SHOW VARIABLES WHERE Variable_name IN " +
  "('version', 'autocommit', 'read_only', 'innodb_flush_log_at_trx_commit', 'wait_timeout', 'idle_transaction_timeout'," +
  " 'idle_write_transaction_timeout', 'tcp_keepalive_time', 'tcp_keepalive_interval', 'tcp_keepalive_probes')";

/** The statement for the time in microseconds since 1970, in any time zone. */
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
    judgeFlush(of("innodb_flush_log_at_trx_commit")),
    judgeLimits(settings),
  ];
}

function judgeVersion(version: string): Finding {
  const isTested = /mariadb/i.test(version);
  return judged("version", isTested ? "ok" : "warning", isTested ? version : `MySQL ${version}`);
}

function judgeRole(readOnly: string): Finding {
  return judged("role", /^(ON|1)$/.test(readOnly) ? "error" : "ok", `read_only ${readOnly}`);
}

function judgeAutocommit(autocommit: string): Finding {
  return judged("autocommit", autocommit === "ON" ? "ok" : "error", `autocommit ${autocommit}`);
}

function judgeFlush(flush: string): Finding {
  return judged("persistence", flush === "1" ? "ok" : "warning", `innodb_flush_log_at_trx_commit ${flush}`);
}

/**
 * Judges the limits of idle transactions, which only MariaDB has. 0 stands for the system's default keepalive, which is
 * not known.
 */
function judgeLimits(settings: MysqlVariables): Finding {
  const seconds = (name: string) => Number(settings.get(name) ?? 0);
  const limits = ["wait_timeout", "idle_transaction_timeout", "idle_write_transaction_timeout"];
  const time = seconds("tcp_keepalive_time");
  // The defaults of Linux where they are left to it.
  const unanswered = (seconds("tcp_keepalive_interval") || 75) * (seconds("tcp_keepalive_probes") || 9);
  return judgeLostConnection(
    {
      ...Object.fromEntries(limits.filter((name) => settings.has(name)).map((name) => [name, seconds(name) * 1_000])),
      ...time > 0 ? { "TCP keepalive": (time + unanswered) * 1_000 } : {},
    },
    "On MariaDB set idle_transaction_timeout = 60, or longer than your transactions pause. MySQL has only wait_timeout, " +
      "which ends idle connections of pools as well.",
  );
}

/** Looks at the table, which the store makes if it is missing. */
async function examineTable(store: Store): Promise<Finding | undefined> {
  try {
    await within(ANSWER_MS, store.query!({ limit: 1 }), CLOCK);
    return judged("layout", "ok", "the table is there");
  } catch (fault) {
    // The trial lock finds other faults.
    if (!(fault instanceof StoreError) || !fault.permanent) return undefined;
    const { message } = fault;
    return judged(/cannot keep locks/.test(message) ? "layout" : "rights", "error", message);
  }
}

/** Returns the bytes of a text as hexadecimal digits. */
function hexOf(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
