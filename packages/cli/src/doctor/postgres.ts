import { StoreError } from "@holdfast/lock";
import { reason } from "@holdfast/lock/authors";
import type { PostgresJsClient, PostgresStore } from "@holdfast/lock/postgres";
import { runPostgres } from "../schemes/postgres_rows.ts";
import { SystemClock } from "../time/clock.ts";
import { LATE, within } from "../time/within.ts";
import type { Examined, Patient } from "./examination.ts";
import { error, type Finding, verdicts } from "./finding.ts";
import type { LockAdvice } from "./lock_cycle.ts";
import { judgeLostConnection } from "./lost_connection.ts";
import { ANSWER_MS, unreachable } from "./unreachable.ts";

/** How long a notification may take, in milliseconds. */
const NOTIFIED_MS = 2_000;

const ADVICE: LockAdvice = {
  failed: () => undefined,
  unwoken: "Look at what keeps the server from answering: locks on the table, and long transactions.",
};

/** The options of an examined database. */
export interface PostgresPatientOptions {
  readonly label: string;
  /** Whether to expect notifications over this connection. */
  readonly listen: boolean;
  readonly close: () => Promise<void>;
}

/** Returns a PostgreSQL database, to examine its settings, its role and the table. */
export function postgresPatient(
  client: PostgresJsClient,
  store: PostgresStore,
  { label, listen, close }: PostgresPatientOptions,
): Patient {
  return {
    store,
    advice: ADVICE,
    examine: () => examineDatabase(client, store, label, listen),
    [Symbol.asyncDispose]: close,
  };
}

async function examineDatabase(
  client: PostgresJsClient,
  store: PostgresStore,
  label: string,
  listen: boolean,
): Promise<Examined> {
  const clock = new SystemClock();
  const rows = (statement: string) => within(ANSWER_MS, runPostgres(client, statement), clock);
  const ask = async (statement: string) => (await rows(statement))[0] ?? [];
  let settings;
  try {
    settings = await ask(
      "SELECT version()::text AS version, pg_is_in_recovery()::text AS standby," +
        " current_setting('synchronous_commit') AS synchronous, current_setting('fsync') AS fsync",
    );
  } catch (fault) {
    return { findings: [unreachable(store, fault)], futile: true };
  }
  const [, standby, synchronous, fsync] = settings;
  const findings = [
    standby === "true"
      ? judged("standby", "error", "the server is a standby")
      : judged("standby", "ok", "the server is a primary"),
    judged(
      "synchronous-commit",
      fsync === "off" ? "warning" : "ok",
      `synchronous_commit is ${synchronous}, fsync ${fsync}`,
    ),
  ];
  if (standby === "true") return { findings, futile: true };
  const table = await examineTable(store);
  const pooler = listen ? await examinePooler(client) : undefined;
  if (pooler !== undefined) findings.push(pooler);
  findings.push(judgeLimits(new Map((await rows(LIMITS)).map(([name, ms]) => [`${name}`, Number(ms)])), pooler));
  const now = async () => {
    return Number((await ask("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::text AS time"))[0]);
  };
  return { findings: [...findings, ...table], clocks: [{ label, now }], futile: table.length > 0 };
}

const judged = verdicts({
  "standby": {
    ok: ["It takes writes."],
    error: ["It takes no writes: no lock can be acquired there.", "Use the URL of the primary."],
  },
  "synchronous-commit": {
    ok: ["Each write of the store is durable: it sets synchronous_commit itself."],
    warning: [
      "A crash of the machine loses the last grants: two callers may then believe that they hold a lock.",
      "Set fsync = on in postgresql.conf.",
    ],
  },
  "pooler": {
    ok: ["Waiters can be woken over this URL."],
    warning: [
      "The URL goes through a pooler in transaction mode: waiters cannot be woken over it, and poll.",
      "Give the option listen of postgres() a direct connection; add ?listen=false to this URL if there is none.",
    ],
  },
});

/** The statement for the limits of idle transactions and of silent connections, in milliseconds. */
const LIMITS = "SELECT name, setting::bigint * CASE unit WHEN 's' THEN 1000 ELSE 1 END FROM pg_settings WHERE " +
  "name ~ '^(idle_in_transaction_session_timeout|transaction_timeout|tcp_keepalives_.*|tcp_user_timeout)$'";

/**
 * Judges the limits of idle transactions and of silent connections. Behind a pooler the server's connection is the
 * pooler's, which goes on answering.
 */
function judgeLimits(settings: ReadonlyMap<string, number>, pooler: Finding | undefined): Finding {
  const of = (name: string) => settings.get(name) ?? 0;
  const unanswered = of("tcp_user_timeout") || of("tcp_keepalives_interval") * of("tcp_keepalives_count");
  const keepalive = of("tcp_keepalives_idle") + unanswered;
  return judgeLostConnection({
    "idle_in_transaction_session_timeout": of("idle_in_transaction_session_timeout"),
    ...settings.has("transaction_timeout") ? { "transaction_timeout": of("transaction_timeout") } : {},
    ...pooler?.level === "ok" ? { "TCP keepalive": keepalive } : {},
  }, "Set idle_in_transaction_session_timeout = '60s', or longer than your transactions pause.");
}

/** Examines the table as the store does at its first use: an error names the statement to run. */
async function examineTable(store: PostgresStore): Promise<Finding[]> {
  try {
    await store.query({ name: "holdfast doctor" });
    return [];
  } catch (fault) {
    const found = reason(fault);
    const advice = /Run: (.+)$/i.exec(found)?.[1] ?? "See the message.";
    const isLayout = /layout|UNLOGGED|ordinary/.test(found);
    if (!(fault instanceof StoreError) || !fault.permanent) return [unreachable(store, fault)];
    if (isLayout) return [error("layout", found, "Locks cannot be kept in that table.", advice)];
    return [error("rights", found, "Programs with this user cannot acquire locks.", advice)];
  }
}

/** Examines whether notifications arrive: a pooler lends a connection for one transaction, and keeps no session. */
async function examinePooler(client: PostgresJsClient): Promise<Finding> {
  const channel = `holdfast_doctor_${crypto.randomUUID()}`;
  let notified = () => {};
  const notification = new Promise<void>((resolve) => notified = resolve);
  try {
    await within(ANSWER_MS, Promise.resolve(client.listen!(channel, () => notified())), new SystemClock());
    await runPostgres(client, `SELECT count(pg_notify('${channel}', ''))::text AS sent`);
    await within(NOTIFIED_MS, notification, new SystemClock());
    return judged("pooler", "ok", "a notification came");
  } catch (fault) {
    const found = fault === LATE ? `no notification came within ${NOTIFIED_MS / 1_000} s` : reason(fault);
    return judged("pooler", "warning", found);
  }
}
