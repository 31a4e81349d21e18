import type { Store } from "@holdfast/lock";
import type { UpstashClient } from "@holdfast/lock/upstash";
import { deleteLock } from "./redis_access.ts";
import { SystemClock } from "../time/clock.ts";
import { within } from "../time/within.ts";
import type { Examined, Patient } from "./examination.ts";
import { examineWakeups, type MessagePath } from "./redis_wakeups.ts";
import { ANSWER_MS, unreachable } from "./unreachable.ts";

const EVENT_STREAM: MessagePath = { name: "event stream", polls: "every 500 ms, which is a request" };

/** Further knowledge of the database. */
interface RestDatabase {
  readonly label: string;
  readonly store: Store;
  readonly prefix: string;
}

/**
 * Returns a database that is reached over HTTP, to examine its event stream and its clock. A lock is tried on any
 * store.
 */
export function upstashPatient(client: UpstashClient, { label, store, prefix }: RestDatabase): Patient {
  return {
    store,
    advice: {
      failed: () => "Do not use this database for locks.",
      unwoken: "Look at what lies between here and the database.",
    },
    examine: () => examineDatabase(client, label, store),
    remove: (name) => deleteLock(client, name, prefix),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

async function examineDatabase(client: UpstashClient, label: string, store: Store): Promise<Examined> {
  try {
    await within(ANSWER_MS, timeOf(client), new SystemClock());
  } catch (fault) {
    return { findings: [unreachable(store, fault)], futile: true };
  }
  const wakeups = await examineWakeups(client, EVENT_STREAM);
  return { findings: [wakeups], clocks: [{ label, now: () => timeOf(client) }] };
}

async function timeOf(client: UpstashClient): Promise<number> {
  const [seconds, microseconds] = await client.postCommand("TIME") as [string, string];
  return Number(seconds) * 1_000 + Number(microseconds) / 1_000;
}
