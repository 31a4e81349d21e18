import { StoreError } from "../../errors.ts";
import { runPostgres } from "../../internal/sql/postgres_client.ts";
import { reason } from "../../internal/reason.ts";
import { LATE, within } from "../../internal/lease/release.ts";
import { SystemClock } from "../../internal/time/clock.ts";
import type { PostgresJsClient, PostgresStore } from "../../stores/postgres/mod.ts";
import type { Examined, Patient } from "./examination.ts";
import { error, type Finding, ok, warning } from "./finding.ts";
import type { LockAdvice } from "./lock_cycle.ts";
import { ANSWER_MS, unreachable } from "./unreachable.ts";

/** How long a notification may take, in milliseconds. */
const NOTIFIED_MS = 2_000;

const ADVICE: LockAdvice = {
  failed: () => undefined,
  unwoken: "Look at what keeps the server from answering: locks on the table, and long transactions.",
};

/** What belongs to a database that is examined. */
export interface PostgresPatientOptions {
  readonly label: string;
  /** Whether notifications are to come over this connection. */
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
  const ask = async (statement: string) => (await within(ANSWER_MS, runPostgres(client, statement), clock))[0] ?? [];
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
  const findings = [standby === "true" ? STANDBY : PRIMARY, judgeDurability(`${synchronous}`, `${fsync}`)];
  if (standby === "true") return { findings, futile: true };
  const table = await examineTable(store);
  if (listen) findings.push(await examinePooler(client));
  const now = async () => {
    return Number((await ask("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::text AS time"))[0]);
  };
  return { findings: [...findings, ...table], clocks: [{ label, now }], futile: table.length > 0 };
}

const PRIMARY = ok("standby", "the server is a primary", "It takes writes.");

const STANDBY = error(
  "standby",
  "the server is a standby",
  "It takes no writes: no lock can be acquired there.",
  "Use the URL of the primary.",
);

function judgeDurability(synchronous: string, fsync: string): Finding {
  const found = `synchronous_commit is ${synchronous}, fsync ${fsync}`;
  if (fsync !== "off") {
    return ok("synchronous-commit", found, "Each write of the store is durable: it sets synchronous_commit itself.");
  }
  return warning(
    "synchronous-commit",
    found,
    "A crash of the machine loses the last grants: two callers may then believe that they hold a lock.",
    "Set fsync = on in postgresql.conf.",
  );
}

/** Looks at the table as the store does at its first use, which names what to run. */
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

/** Examines whether notifications come: a pooler lends a connection for one transaction, and keeps no session. */
async function examinePooler(client: PostgresJsClient): Promise<Finding> {
  const channel = `holdfast_doctor_${crypto.randomUUID()}`;
  let notified = () => {};
  const notification = new Promise<void>((resolve) => notified = resolve);
  try {
    await within(ANSWER_MS, Promise.resolve(client.listen!(channel, () => notified())), new SystemClock());
    await runPostgres(client, `SELECT count(pg_notify('${channel}', ''))::text AS sent`);
    await within(NOTIFIED_MS, notification, new SystemClock());
    return ok("pooler", "a notification came", "Waiters can be woken over this URL.");
  } catch (fault) {
    return warning(
      "pooler",
      fault === LATE ? `no notification came within ${NOTIFIED_MS / 1_000} s` : reason(fault),
      "The URL goes through a pooler in transaction mode: waiters cannot be woken over it, and poll.",
      "Give the option listen of postgres() a direct connection; add ?listen=false to this URL if there is none.",
    );
  }
}
